package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/tracefmt/numtext"
)

// infoVersion is the version of the JSON form (docs/info.schema.json).
const infoVersion = 1

// infoJSON is the JSON form of `hindsight info`. Sizes are bytes.
type infoJSON struct {
	Version  int    `json:"version"`
	File     string `json:"file"`
	Complete bool   `json:"complete"`
	// Verified is present when --verify was given: whether all that is in the
	// file was decoded and agrees.
	Verified  *bool        `json:"verified,omitempty"`
	Epochs    int          `json:"epochs"`
	Program   string       `json:"program"`
	Args      []string     `json:"args"`
	Seed      uint64       `json:"seed"`
	Policy    string       `json:"policy"`
	Quantum   uint64       `json:"quantum"`
	Depth     int          `json:"depth,omitempty"`
	Steps     uint64       `json:"steps,omitempty"`
	Record    string       `json:"record"`
	Control   string       `json:"control"`
	Functions []string     `json:"functions,omitempty"`
	Alphabet  string       `json:"alphabet"`
	Keep      string       `json:"keep"`
	Status    *int         `json:"status,omitempty"` // exit status of the guest
	Message   string       `json:"message,omitempty"`
	Threads   []infoThread `json:"threads"`
	Sizes     infoSizes    `json:"sizes"`
	Values    *infoValues  `json:"values,omitempty"` // with run --record wet
}

type infoThread struct {
	ID           uint32 `json:"id"`
	Instructions uint64 `json:"instructions"`
	Blocks       uint64 `json:"blocks"`
	Accesses     uint64 `json:"accesses"`
	Sync         uint64 `json:"sync"`
}

type infoSizes struct {
	File        int64  `json:"file"`
	Control     int64  `json:"control"`
	Data        int64  `json:"data"`
	Sync        int64  `json:"sync"`
	Schedule    int64  `json:"schedule"`
	SynchCounts int64  `json:"synch_counts"`
	Tables      int64  `json:"tables"`
	Image       int64  `json:"image"`
	RawControl  uint64 `json:"raw_control"`
	RawData     uint64 `json:"raw_data"`
}

func newInfo(std cli.Streams) *cobra.Command {
	var format string
	var verify, incomplete bool
	cmd := &cobra.Command{
		Use:   "info [flags] TRACE",
		Short: "Say what a trace holds, and whether it is sound",
		Long: `info tells what was run and how, what each thread did, and where the bytes of
the trace are. raw is what the uncompressed trace would take as the paper counts
it: 4 bytes for each block execution, 4 for each recorded access. --verify reads
all of the file and checks every checksum, grammar and count.`,
		Example: `  hindsight info bank.hst
  hindsight info --verify --format json bank.hst`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format, "text", "json"); err != nil {
				return err
			}
			t, err := cdr.OpenFile(args[0])
			if err != nil {
				return err
			}
			defer t.Close()
			info := describe(args[0], t)
			var verdict error
			if verify {
				if verdict = t.Verify(); verdict == nil && !incomplete {
					verdict = hasRun(t)
				}
				if verdict == nil {
					verdict = t.VerifyArch()
				}
				if verdict == nil {
					info.Values, verdict = describeValues(args[0], true)
				}
				ok := verdict == nil
				info.Verified = &ok
			}
			if info.Values == nil && verdict == nil {
				if info.Values, err = describeValues(args[0], false); err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
			}
			if format == "json" {
				enc := json.NewEncoder(std.Out)
				enc.SetIndent("", "  ")
				err = enc.Encode(info)
			} else {
				err = info.text(std.Out)
			}
			if err == nil && verdict != nil {
				err = fmt.Errorf("%s: %w", args[0], verdict)
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

func describe(file string, t *cdr.Trace) *infoJSON {
	meta, sizes := t.Info(), t.Sizes()
	info := &infoJSON{
		Version: infoVersion, File: file, Complete: meta.Complete, Epochs: meta.Epochs,
		Program: meta.Program, Args: append([]string{}, meta.Args...), Seed: meta.Seed,
		Policy: meta.Policy, Quantum: meta.Quantum, Depth: meta.Depth, Steps: meta.Steps,
		Record: string(meta.Mode), Control: controlText(meta.Control), Functions: meta.Functions, Alphabet: string(meta.Alphabet), Keep: meta.Keep,
		Threads: []infoThread{},
		Sizes: infoSizes{
			File: sizes.File, Control: sizes.Control, Data: sizes.Data, Sync: sizes.Sync,
			Tables: sizes.Tables, Image: sizes.Image, Schedule: sizes.Schedule,
			RawControl: sizes.RawControl, RawData: sizes.RawData,
		},
	}
	if meta.Outcome != nil {
		info.Status, info.Message = &meta.Outcome.Status, meta.Outcome.Message
	}
	for _, th := range t.Threads() {
		info.Threads = append(info.Threads, infoThread{
			ID: uint32(th.ID), Instructions: th.Insts, Blocks: th.Blocks, Accesses: th.Recorded, Sync: th.Events,
		})
	}
	return info
}

// recorded says what the trace holds of the run.
func (i *infoJSON) recorded() string {
	switch i.Record {
	case string(cdr.ModeCOR):
		return fmt.Sprintf("cor: control flow%s over the alphabet of %ss, no addresses", i.control(), i.Alphabet)
	case string(cdr.ModeDOR):
		return fmt.Sprintf("dor: accesses in one string a thread, no control flow, accesses kept: %s", i.Keep)
	}
	return fmt.Sprintf("%s%s over the alphabet of %ss, accesses kept: %s", i.Record, i.control(), i.Alphabet, i.Keep)
}

// control says how control flow is kept, where it is not as grammars.
func (i *infoJSON) control() string {
	if i.Control == string(cdr.ControlAPP) {
		if len(i.Functions) > 0 {
			return " of " + strings.Join(i.Functions, ", ") + " by directions of branches (app)"
		}
		return " by directions of branches (app), played back"
	}
	return ""
}

func (i *infoJSON) text(w io.Writer) error {
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
	fmt.Fprintf(w, "  recorded  %s\n", i.recorded())
	if i.Values != nil {
		i.Values.text(w)
	}
	if i.Status != nil {
		fmt.Fprintf(w, "  ended     with status %d", *i.Status)
		if i.Message != "" {
			fmt.Fprintf(w, ": %s", i.Message)
		}
		fmt.Fprintln(w)
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
	case string(cdr.ModeDOR):
		fmt.Fprintf(w, "\n  accesses and events %s (raw %s), sync %s\n", numtext.Bytes(s.Control), numtext.Bytes(int64(s.RawData)), numtext.Bytes(s.Sync))
	case string(cdr.ModeCOR):
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
