package kernel

import "math"

// Adam holds what one step of AdamW needs besides the slices (Kingma and Ba, ICLR 2015, algorithm 1; decoupled decay:
// Loshchilov and Hutter, ICLR 2019).
type Adam struct {
	Rate, Beta1, Beta2, Epsilon float32
	Decay                       float32 // weight decay a step is Rate*Decay*w; 0 for none
	Clip                        float32 // every gradient is multiplied by it first: 1, or limit/norm to clip the norm
	Step                        int     // 1 for the first step
	Average                     float32 // decay of the moving average of the weights, when one is kept
}

// adamArgs are the factors of one step, as the kernels use them.
type adamArgs struct {
	clip, beta1, rest1, beta2, rest2, rate, eps, keep, mean, blend float32
}

func (a *Adam) args() adamArgs {
	c1 := 1 - math.Pow(float64(a.Beta1), float64(a.Step))
	c2 := 1 - math.Pow(float64(a.Beta2), float64(a.Step))
	return adamArgs{
		clip: a.Clip, beta1: a.Beta1, rest1: 1 - a.Beta1, beta2: a.Beta2, rest2: 1 - a.Beta2,
		// rate * (m/c1) / (sqrt(v/c2)+eps) = (rate*sqrt(c2)/c1) * m / (sqrt(v) + eps*sqrt(c2))
		rate: float32(float64(a.Rate) * math.Sqrt(c2) / c1), eps: float32(float64(a.Epsilon) * math.Sqrt(c2)),
		keep: 1 - float32(a.Rate*a.Decay), mean: a.Average, blend: 1 - a.Average,
	}
}

// AdamStep updates the weights w and the moments m and v with the gradient g, and the moving average of the weights
// avg unless it is nil. All have the same length.
func (s *Set) AdamStep(w, g, m, v, avg []float32, a Adam) {
	k := a.args()
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	if avg != nil {
		avg = avg[:len(w)]
	}
	i := s.adam(w, g, m, v, avg, &k)
	if avg != nil {
		avg = avg[i:]
	}
	plainAdam(w[i:], g[i:], m[i:], v[i:], avg, &k)
}

func plainAdam(w, g, m, v, avg []float32, k *adamArgs) {
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	for i := range w {
		d := g[i] * k.clip
		m[i] = float32(k.beta1*m[i]) + float32(k.rest1*d)
		v[i] = float32(k.beta2*v[i]) + float32(k.rest2*float32(d*d))
		u := float32(k.rate*m[i]) / (float32(math.Sqrt(float64(v[i]))) + k.eps)
		w[i] = float32(k.keep*w[i]) - u
	}
	if avg != nil {
		avg = avg[:len(w)]
		for i := range w {
			avg[i] = float32(k.mean*avg[i]) + float32(k.blend*w[i])
		}
	}
}
