package main

import "github.com/spf13/cobra"

func newRaces(std streams) *cobra.Command { return &cobra.Command{Use: "races"} }
