package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/cdr/format"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/tracefmt/numtext"
)

func newInfo(std cli.Streams) *cobra.Command {
	var format string
	var verify, incomplete bool
	cmd := &cobra.Command{
		Use:   "info [flags] TRACE",
		Short: "Show what a trace contains and check it",
		Long: `info shows which program was run and how, what each thread did, and how many
bytes each part of the trace takes. raw is the size of the uncompressed trace as
the paper counts it: 4 bytes for each block execution and 4 for each recorded
access. --verify reads the whole file and checks every checksum, grammar and
count.`,
		Example: `  hindsight info bank.hst
  hindsight info --verify --format json bank.hst`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format, "text", "json"); err != nil {
				return err
			}
			t, err := analyze.Open(args[0])
			if err != nil {
				return err
			}
			defer t.Close()
			info, err := t.Info()
			var verdict error
			if verify {
				verdict = t.Verify(incomplete)
				ok := verdict == nil
				info.Verified = &ok
				if !ok {
					info.Values = nil
				}
			}
			if err != nil && verdict == nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if format == "json" {
				enc := json.NewEncoder(std.Out)
				enc.SetIndent("", "  ")
				err = enc.Encode(info)
			} else {
				err = writeInfo(std.Out, info)
			}
			if err == nil && verdict != nil {
				err = fmt.Errorf("%s: %w", args[0], orAllowed(verdict))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	cmd.Flags().BoolVar(&verify, "verify", false, "read everything and check it")
	allowIncomplete(cmd.Flags(), &incomplete)
	cli.Complete(cmd, "format", "text", "json")
	return cmd
}

// recordedText says what the trace contains of the run.
func recordedText(i *analyze.Info) string {
	switch i.Record {
	case string(format.ModeSchedule):
		return "schedule: what a second run needs"
	case string(format.ModeCOR):
		return fmt.Sprintf("cor: control flow%s over the alphabet of %ss, no addresses", controlOf(i), i.Alphabet)
	case string(format.ModeDOR):
		return fmt.Sprintf("dor: accesses in one string a thread, no control flow, accesses kept: %s", i.Keep)
	}
	return fmt.Sprintf("%s%s over the alphabet of %ss, accesses kept: %s", i.Record, controlOf(i), i.Alphabet, i.Keep)
}

// controlOf says how control flow is stored, if not as grammars.
func controlOf(i *analyze.Info) string {
	if i.Control == string(format.ControlAPP) {
		if len(i.Functions) > 0 {
			return " of " + strings.Join(i.Functions, ", ") + " by directions of branches (app)"
		}
		return " by directions of branches (app), played back"
	}
	return ""
}

func writeInfo(w io.Writer, i *analyze.Info) error {
	state := "complete"
	if !i.Complete {
		state = "incomplete: the recording did not end well; what is here can be used"
	}
	if i.Verified != nil && *i.Verified {
		state += ", verified"
	}
	fmt.Fprintf(w, "%s: %s, %s\n", i.File, state, numtext.Plural(uint64(i.Epochs), "epoch"))
	fmt.Fprintf(w, "  program   %s\n", strings.Join(append([]string{i.Program}, i.Args...), " "))
	switch {
	case i.Policy == mpsim.PCT.String():
		fmt.Fprintf(w, "  schedule  %s, seed %d, depth %d, %s steps\n", i.Policy, i.Seed, i.Depth, numtext.Grouped(i.Steps))
	case i.Quantum == 0:
		fmt.Fprintf(w, "  schedule  %s, seed %d, quanta of many lengths\n", i.Policy, i.Seed)
	default:
		fmt.Fprintf(w, "  schedule  %s, seed %d, quantum %d\n", i.Policy, i.Seed, i.Quantum)
	}
	fmt.Fprintf(w, "  recorded  %s\n", recordedText(i))
	if i.Values != nil {
		writeValues(w, i.Values)
	}
	if i.Status != nil {
		fmt.Fprintf(w, "  ended     with status %d", *i.Status)
		if i.Message != "" {
			fmt.Fprintf(w, ": %s", i.Message)
		}
		fmt.Fprintln(w)
	}
	if i.Record == string(format.ModeSchedule) {
		return nil
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "thread\tinstructions\tblocks\taccesses\tordered events\t")
	for _, th := range i.Threads {
		fmt.Fprintf(tw, "T%d\t%s\t%s\t%s\t%s\t\n", th.ID,
			numtext.Grouped(th.Instructions), numtext.Grouped(th.Blocks), numtext.Grouped(th.Accesses), numtext.Grouped(th.Sync))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	s := i.Sizes
	compressed, raw := s.Control+s.Data+s.Sync, s.RawControl+s.RawData
	switch i.Record {
	case string(format.ModeDOR):
		fmt.Fprintf(w, "\n  accesses and events %s (raw %s), sync %s\n", numtext.Bytes(s.Control), numtext.Bytes(int64(s.RawData)), numtext.Bytes(s.Sync))
	case string(format.ModeCOR):
		fmt.Fprintf(w, "\n  control %s (raw %s), sync %s\n", numtext.Bytes(s.Control), numtext.Bytes(int64(s.RawControl)), numtext.Bytes(s.Sync))
	default:
		fmt.Fprintf(w, "\n  control %s (raw %s), data %s (raw %s), sync %s\n",
			numtext.Bytes(s.Control), numtext.Bytes(int64(s.RawControl)), numtext.Bytes(s.Data), numtext.Bytes(int64(s.RawData)), numtext.Bytes(s.Sync))
	}
	if raw > 0 {
		fmt.Fprintf(w, "  together %s, %.2f %% of the raw trace; tables %s, schedule %s, program %s, file %s\n",
			numtext.Bytes(compressed), 100*float64(compressed)/float64(raw), numtext.Bytes(s.Tables), numtext.Bytes(s.Schedule), numtext.Bytes(s.Image), numtext.Bytes(s.File))
	}
	return nil
}

func writeValues(w io.Writer, i *analyze.ValuesInfo) {
	fmt.Fprintf(w, "  values    of %s statements, %s dependences, in %s nodes: %s, %.3f bytes a statement\n",
		numtext.Grouped(i.Statements), numtext.Grouped(i.Dependences), numtext.Grouped(uint64(i.Nodes)), numtext.Bytes(int64(i.Stored)), float64(i.Stored)/float64(max(i.Statements, 1)))
}
