package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"kirin/network/kernel"

	"github.com/spf13/cobra"
)

// version is the program's version; games and weights record it.
const version = "0.1.0"

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the program's version and the kernel set in use",
		Example: "  kirin version --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := struct {
				Version  string   `json:"version"`
				Revision string   `json:"revision,omitempty"`
				Go       string   `json:"go"`
				Platform string   `json:"platform"`
				Cores    int      `json:"cores"`
				Kernel   string   `json:"kernel"`
				Kernels  []string `json:"kernels"`
			}{version, revision(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, runtime.NumCPU(), kernel.Best().Name(), kernel.Sets()}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(info)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "kirin %s\nrevision %s\n%s %s, %d cores\nkernel set %s (usable here: %s)\n",
				info.Version, orNone(info.Revision), info.Go, info.Platform, info.Cores, info.Kernel, strings.Join(info.Kernels, ", "))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// revision is the commit the program was built from, if the build recorded it.
func revision() string {
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range bi.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

func orNone(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
