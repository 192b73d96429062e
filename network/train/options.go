package train

import (
	"errors"
	"fmt"
	"math"
)

// Schedules of the learning rate after the warm-up.
const (
	Constant = "constant" // stays at learning_rate
	Cosine   = "cosine"   // falls to final_rate over decay_steps, half a cosine wave
	Steps    = "step"     // multiplied by step_factor every decay_steps, not below final_rate
)

// Options are the settings of training. The zero value is not usable; start
// from DefaultOptions.
type Options struct {
	BatchSize    int     `yaml:"batch_size"`    // samples of a step
	Slices       int     `yaml:"slices"`        // parts of a batch that can be computed at the same time; changes the last bits
	LearningRate float64 `yaml:"learning_rate"` // after the warm-up
	WarmupSteps  int64   `yaml:"warmup_steps"`  // the rate rises evenly from 0 over so many steps
	Schedule     string  `yaml:"schedule"`      // constant, cosine or step
	DecaySteps   int64   `yaml:"decay_steps"`   // cosine: length of the fall; step: steps between two falls
	StepFactor   float64 `yaml:"step_factor"`   // step: factor of each fall
	FinalRate    float64 `yaml:"final_rate"`    // cosine, step: the rate does not fall below it
	Beta1        float64 `yaml:"beta1"`         // AdamW: decay of the first moment
	Beta2        float64 `yaml:"beta2"`         // AdamW: decay of the second moment
	Epsilon      float64 `yaml:"epsilon"`       // AdamW: added to the root of the second moment
	WeightDecay  float64 `yaml:"weight_decay"`  // AdamW: decoupled decay of all weights but the biases
	ClipNorm     float64 `yaml:"clip_norm"`     // gradients with a larger norm are scaled down to it; 0: never
	Average      float64 `yaml:"average"`       // decay of the moving average of the weights that plays
	PolicyWeight float64 `yaml:"policy_weight"` // factor of the policy loss
	ValueWeight  float64 `yaml:"value_weight"`  // factor of the value loss
	PliesWeight  float64 `yaml:"plies_weight"`  // factor of the plies-left loss
	SoftWeight   float64 `yaml:"soft_weight"`   // factor of the soft policy's loss, an auxiliary head; 0: no such head
	Temperature  float64 `yaml:"temperature"`   // of the soft policy's target: the policy target to the power of 1/temperature
	ReplyWeight  float64 `yaml:"reply_weight"`  // factor of the loss of the opponent's reply, an auxiliary head; 0: no such head
	Surprise     float64 `yaml:"surprise"`      // share of a sample's weight that follows how much its policy target surprises the net
	ValueBlend   float64 `yaml:"value_blend"`   // share of the search's root value in the value target; the rest is the game's result
	Mirror       bool    `yaml:"mirror"`        // reflect half of the samples left to right, where the rules are symmetric
	Seed         uint64  `yaml:"seed"`          // of the choice which samples are reflected
}

// DefaultOptions returns settings that learn on every game.
func DefaultOptions() Options {
	return Options{
		BatchSize:    256,
		Slices:       4,
		LearningRate: 2e-3,
		WarmupSteps:  100,
		Schedule:     Constant,
		DecaySteps:   10000,
		StepFactor:   0.5,
		FinalRate:    1e-4,
		Beta1:        0.9,
		Beta2:        0.99,
		Epsilon:      1e-7,
		WeightDecay:  1e-2,
		ClipNorm:     2,
		Average:      0.995,
		PolicyWeight: 1,
		ValueWeight:  1,
		PliesWeight:  0.2,
		SoftWeight:   0,
		Temperature:  4,
		ReplyWeight:  0,
		Surprise:     0,
		ValueBlend:   0.25,
		Mirror:       true,
		Seed:         1,
	}
}

// Validate returns an error that lists every setting out of its range, each
// beginning with its key, or nil.
func (o *Options) Validate() error {
	var faults []error
	check := func(ok bool, key string, value any, want string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s: %v; want %s", key, value, want))
		}
	}
	between := func(key string, x, low, high float64) {
		check(x >= low && x <= high, key, x, fmt.Sprintf("%v to %v", low, high))
	}
	below := func(key string, x float64) { check(x >= 0 && x < 1, key, x, "0 or more and less than 1") }
	check(o.BatchSize >= 1 && o.BatchSize <= 65536, "batch_size", o.BatchSize, "1 to 65536")
	check(o.Slices >= 1 && o.Slices <= 64, "slices", o.Slices, "1 to 64")
	check(o.LearningRate > 0 && o.LearningRate <= 1, "learning_rate", o.LearningRate, "more than 0, at most 1")
	check(o.WarmupSteps >= 0, "warmup_steps", o.WarmupSteps, "0 or more")
	check(o.Schedule == Constant || o.Schedule == Cosine || o.Schedule == Steps, "schedule", o.Schedule, "constant, cosine or step")
	check(o.DecaySteps >= 1, "decay_steps", o.DecaySteps, "1 or more")
	check(o.StepFactor > 0 && o.StepFactor <= 1, "step_factor", o.StepFactor, "more than 0, at most 1")
	check(o.FinalRate >= 0 && o.FinalRate <= 1, "final_rate", o.FinalRate, "0 to 1")
	below("beta1", o.Beta1)
	below("beta2", o.Beta2)
	check(o.Epsilon > 0 && o.Epsilon <= 1, "epsilon", o.Epsilon, "more than 0, at most 1")
	between("weight_decay", o.WeightDecay, 0, 1)
	between("clip_norm", o.ClipNorm, 0, 1e6)
	below("average", o.Average)
	between("policy_weight", o.PolicyWeight, 0, 1000)
	between("value_weight", o.ValueWeight, 0, 1000)
	between("plies_weight", o.PliesWeight, 0, 1000)
	between("soft_weight", o.SoftWeight, 0, 1000)
	between("temperature", o.Temperature, 1, 100)
	between("reply_weight", o.ReplyWeight, 0, 1000)
	between("surprise", o.Surprise, 0, 1)
	between("value_blend", o.ValueBlend, 0, 1)
	return errors.Join(faults...)
}

// Rate returns the learning rate of a step, 1 being the first.
func (o *Options) Rate(step int64) float64 {
	if step <= o.WarmupSteps {
		return o.LearningRate * float64(step) / float64(o.WarmupSteps)
	}
	past := float64(step-o.WarmupSteps) / float64(o.DecaySteps)
	low := min(o.FinalRate, o.LearningRate)
	switch o.Schedule {
	case Cosine:
		return low + (o.LearningRate-low)*(1+math.Cos(math.Pi*min(past, 1)))/2
	case Steps:
		return max(low, o.LearningRate*math.Pow(o.StepFactor, math.Floor(past)))
	}
	return o.LearningRate
}
