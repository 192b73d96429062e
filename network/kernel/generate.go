package kernel

// The assembly and the tables are written by the generator in asm, a module of its own because nothing else needs its
// dependencies. The same generator gives the same files.
//
//go:generate go run -C asm . -tables ../tiles.go -switches ../tiles_amd64.go
//go:generate go run -C asm . -set avx2 -part gemm -out ../gemm_avx2_amd64.s -stubs ../gemm_avx2_amd64.go -pkg kernel
//go:generate go run -C asm . -set avx2 -part tiles -out ../tiles_avx2_amd64.s -stubs ../tiles_avx2_amd64.go -pkg kernel
//go:generate go run -C asm . -set avx2 -part elements -out ../elements_avx2_amd64.s -stubs ../elements_avx2_amd64.go -pkg kernel
//go:generate go run -C asm . -set avx512 -part gemm -out ../gemm_avx512_amd64.s -stubs ../gemm_avx512_amd64.go -pkg kernel
//go:generate go run -C asm . -set avx512 -part tiles -out ../tiles_avx512_amd64.s -stubs ../tiles_avx512_amd64.go -pkg kernel
//go:generate go run -C asm . -set avx512 -part elements -out ../elements_avx512_amd64.s -stubs ../elements_avx512_amd64.go -pkg kernel
