package stock_test

import (
	"math"
	"math/rand/v2"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"kirin/network"
	"kirin/network/encode"
	"kirin/network/stock"
	"kirin/rules"
)

func TestTheStockNetAnswersLikeTheForwardPass(t *testing.T) {
	v, err := rules.Load("minishogi")
	if err != nil {
		t.Fatal(err)
	}
	enc, err := encode.New(v)
	if err != nil {
		t.Fatal(err)
	}
	w, err := network.Init(network.Spec{Blocks: 2, Channels: 16, PoolEvery: 2}, enc, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	const n = 3
	p := v.Start()
	moves := p.AppendMoves(nil)
	r := network.Request{N: n, Planes: make([]float32, n*enc.Size()), Offsets: []int32{0}, Values: make([]rules.Value, n)}
	for i := range n {
		enc.Encode(p, r.Planes[i*enc.Size():])
		moves = p.AppendMoves(moves[:0])
		for _, m := range moves {
			r.Index = append(r.Index, int32(enc.Index(p, m)))
		}
		r.Offsets = append(r.Offsets, int32(len(r.Index)))
		p.Do(moves[i])
	}
	r.Logits = make([]float32, len(r.Index))
	net, err := network.New(w)
	if err != nil {
		t.Fatal(err)
	}
	net.Forward(network.NewScratch(net), &r)
	s, err := stock.New(tensor.Float32, network.NewLayout(w.Form), w.Params, n)
	if err != nil {
		t.Fatal(err)
	}
	logits, err := s.Moves("policy.move")
	if err != nil {
		t.Fatal(err)
	}
	var policy, outputs G.Value
	G.Read(logits, &policy)
	G.Read(s.Outputs, &outputs)
	s.SetPlanes(r.Planes)
	vm := G.NewTapeMachine(s.Graph)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	all := policy.Data().([]float32)
	for i := range n {
		for j := r.Offsets[i]; j < r.Offsets[i+1]; j++ {
			if got := all[i*w.Form.PolicySize()+s.At(r.Index[j])]; math.Abs(float64(got-r.Logits[j])) > 1e-4 {
				t.Errorf("position %d: logit %v, stock %v", i, r.Logits[j], got)
			}
		}
		got := network.Probabilities(outputs.Data().([]float32)[i*network.ValueOutputs:])
		if math.Abs(float64(got.Win-r.Values[i].Win)) > 1e-5 {
			t.Errorf("position %d: value %v, stock %v", i, r.Values[i], got)
		}
	}
}
