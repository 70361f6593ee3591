package main

import "github.com/spf13/cobra"

func newDemo(std streams) *cobra.Command { return &cobra.Command{Use: "demo"} }
