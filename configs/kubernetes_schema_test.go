package configs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// faults gathers what is wrong, a sentence each.
type faults struct{ list []string }

func (f *faults) add(format string, a ...any) { f.list = append(f.list, fmt.Sprintf(format, a...)) }

// manifest is one object of a file, in the API's own type.
type manifest struct {
	where  string
	object metav1.Object
}

func (m manifest) stateful() *appsv1.StatefulSet {
	s, _ := m.object.(*appsv1.StatefulSet)
	return s
}

// decode reads a file's objects as the API server does with strict validation
// of fields: unknown and repeated ones are faults.
func (f *faults) decode(file, text string) []manifest {
	kinds := map[metav1.TypeMeta]metav1.Object{
		{APIVersion: "v1", Kind: "Service"}:                             &corev1.Service{},
		{APIVersion: "apps/v1", Kind: "StatefulSet"}:                    &appsv1.StatefulSet{},
		{APIVersion: "apps/v1", Kind: "Deployment"}:                     &appsv1.Deployment{},
		{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}:     &networkingv1.NetworkPolicy{},
		{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}:          &policyv1.PodDisruptionBudget{},
		{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"}: &autoscalingv2.HorizontalPodAutoscaler{},
	}
	var all []manifest
	for i, part := range strings.Split(text, "\n---\n") {
		where := fmt.Sprintf("%s, object %d", file, i+1)
		data, err := yaml.YAMLToJSONStrict([]byte(part))
		if err != nil {
			f.add("%s: %v", where, err)
			continue
		}
		var kind metav1.TypeMeta
		var written any
		if err := json.Unmarshal(data, &kind); err != nil {
			f.add("%s: %v", where, err)
			continue
		}
		blank := kinds[kind]
		if blank == nil {
			f.add("%s: no kind %s of %s", where, kind.Kind, kind.APIVersion)
			continue
		}
		where += ", " + kind.Kind
		object := reflect.New(reflect.TypeOf(blank).Elem())
		strict, err := kjson.UnmarshalStrict(data, object.Interface())
		for _, e := range strict {
			f.add("%s: %v", where, e)
		}
		if err == nil {
			err = json.Unmarshal(data, &written)
		}
		if err != nil {
			f.add("%s: %v", where, err)
			continue
		}
		f.walk(where+": ", object.Elem(), written)
		all = append(all, manifest{where, object.Interface().(metav1.Object)})
	}
	return all
}

// words are the values that the API knows for the types of strings that occur.
var words = map[reflect.Type][]string{
	reflect.TypeFor[corev1.PersistentVolumeAccessMode]():    {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"},
	reflect.TypeFor[corev1.ResourceName]():                  {"cpu", "memory", "storage", "ephemeral-storage"},
	reflect.TypeFor[networkingv1.PolicyType]():              {"Ingress", "Egress"},
	reflect.TypeFor[autoscalingv2.MetricSourceType]():       {"Object", "Pods", "Resource", "ContainerResource", "External"},
	reflect.TypeFor[autoscalingv2.MetricTargetType]():       {"Utilization", "Value", "AverageValue"},
	reflect.TypeFor[corev1.UnsatisfiableConstraintAction](): {"DoNotSchedule", "ScheduleAnyway"},
}

// walk compares what was written with its type: fields that the API requires
// (its types mark the others as omitted when empty) must be there, nothing may
// be empty, and words must be known. Numbers, quantities and times have been
// checked by their types.
func (f *faults) walk(path string, v reflect.Value, written any) {
	if _, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f.walk(path, v.Elem(), written)
		}
	case reflect.Struct:
		f.walkFields(path, v, written)
	case reflect.Slice:
		items, _ := written.([]any)
		for i := range min(v.Len(), len(items)) {
			f.walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i), items[i])
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			f.word(path, k)
		}
	case reflect.String:
		f.word(path, v)
	}
}

func (f *faults) walkFields(path string, v reflect.Value, written any) {
	m, _ := written.(map[string]any)
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name == "" { // part of the object around it
			f.walk(path, v.Field(i), written)
			continue
		}
		at := path + "." + name
		if strings.HasSuffix(path, ": ") {
			at = path + name
		}
		value, ok := m[name]
		switch {
		case !ok && !strings.Contains(options, "omitempty"):
			f.add("%s is missing", at)
		case ok && value == nil:
			f.add("%s is empty", at)
		case ok:
			f.walk(at, v.Field(i), value)
		}
	}
}

// word checks a string of a type of its own.
func (f *faults) word(path string, v reflect.Value) {
	if v.Type().PkgPath() == "" {
		return
	}
	known, ok := words[v.Type()]
	if !ok {
		f.add("%s: the words of %v are not known here", path, v.Type())
	} else if !slices.Contains(known, v.String()) {
		f.add("%s: %q is none of %s", path, v.String(), strings.Join(known, ", "))
	}
}
