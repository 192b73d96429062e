// Command asm writes the assembly of package kernel. Run it through go generate in network/kernel; the same input
// gives the same files. One set of writers serves AVX2 and AVX-512: they differ in the length of a vector, the number
// of registers and a few instructions.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
)

const rodata = attr.RODATA | attr.NOPTR

func main() {
	set := flag.String("set", "", "instruction set: avx2 or avx512")
	part := flag.String("part", "", "what to write: gemm, tiles or elements")
	tables := flag.String("tables", "", "write the Winograd matrices as Go to this file, and nothing else")
	switches := flag.String("switches", "", "write the choice of tile functions as Go to this file, and nothing else")
	flag.Parse()
	if *tables != "" || *switches != "" {
		if err := writeGo(*tables, *switches); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	v, ok := map[string]*isa{"avx2": avx2, "avx512": avx512}[*set]
	if !ok {
		fmt.Fprintf(os.Stderr, "no instruction set %q\n", *set)
		os.Exit(2)
	}
	ConstraintExpr("amd64")
	switch *part {
	case "gemm":
		writeGemm(v)
	case "tiles":
		v.part = "Tiles"
		for m := minTile; m <= maxTile; m++ {
			writeTile(v, newTile(m))
		}
	case "elements":
		v.part = "Elements"
		writeElements(v)
	default:
		fmt.Fprintf(os.Stderr, "no part %q\n", *part)
		os.Exit(2)
	}
	v.writeConstants()
	Generate()
}

// writeTile emits the six transforms of a tile.
func writeTile(v *isa, t *tile) {
	name := func(s string) string { return fmt.Sprintf("%s%d", s, t.m) }
	writeTransform(v, name("patch"), t.in, true)
	writeTransform(v, name("whole"), t.whole, true)
	writeTransform(v, name("core"), t.rise, true)
	writeTransform(v, name("weights"), t.wgt, false)
	writeTransform(v, name("weightGrad"), t.fall, false)
	writeGather(v, name("gather"), t.out)
}

// writeGo writes the Go files that are asked for.
func writeGo(tables, switches string) error {
	if tables != "" {
		if err := writeTables(tables); err != nil {
			return err
		}
	}
	if switches != "" {
		return writeSwitches(switches)
	}
	return nil
}
