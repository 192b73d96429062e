package configs

import (
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
)

// owner is what makes pods.
type owner struct {
	where, kind, name string
	selector          *metav1.LabelSelector
	template          corev1.PodTemplateSpec
	claims            []corev1.PersistentVolumeClaim
}

// cluster is what the files would make.
type cluster struct {
	owners   []owner
	services map[string]*corev1.Service
}

// objects checks what types do not say: values that the API server refuses
// later, and whether the objects fit each other.
func (f *faults) objects(all []manifest) {
	c := cluster{services: map[string]*corev1.Service{}}
	for _, m := range all {
		name := m.object.GetName()
		for _, e := range validation.IsDNS1123Subdomain(name) {
			f.add("%s: the name %s: %s", m.where, name, e)
		}
		f.labels(m.where, m.object.GetLabels())
		switch o := m.object.(type) {
		case *corev1.Service:
			c.services[name] = o
		case *appsv1.StatefulSet:
			c.owners = append(c.owners, owner{m.where, "StatefulSet", name, o.Spec.Selector, o.Spec.Template, o.Spec.VolumeClaimTemplates})
		case *appsv1.Deployment:
			c.owners = append(c.owners, owner{m.where, "Deployment", name, o.Spec.Selector, o.Spec.Template, nil})
		}
	}
	for _, o := range c.owners {
		f.owner(o)
	}
	for _, m := range all {
		switch o := m.object.(type) {
		case *corev1.Service:
			f.service(m.where, o, c)
		case *appsv1.StatefulSet:
			if s := c.services[o.Spec.ServiceName]; s == nil || s.Spec.ClusterIP != corev1.ClusterIPNone {
				f.add("%s: serviceName %s is no headless service", m.where, o.Spec.ServiceName)
			}
		case *appsv1.Deployment:
			if u := o.Spec.Strategy.RollingUpdate; u != nil {
				if f.share(m.where, "maxUnavailable", u.MaxUnavailable)+f.share(m.where, "maxSurge", u.MaxSurge) == 0 {
					f.add("%s: no pod can be replaced: maxUnavailable and maxSurge are 0", m.where)
				}
			}
		case *policyv1.PodDisruptionBudget:
			f.budget(m.where, o, c)
		case *networkingv1.NetworkPolicy:
			f.policy(m.where, o, c)
		case *autoscalingv2.HorizontalPodAutoscaler:
			f.autoscaler(m.where, o, c)
		}
	}
}

func (f *faults) labels(where string, set map[string]string) {
	if _, err := labels.ValidatedSelectorFromSet(set); err != nil {
		f.add("%s: %v", where, err)
	}
}

// selected returns the owners whose pods a selector means.
func (f *faults) selected(where string, s *metav1.LabelSelector, c cluster) []owner {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		f.add("%s: %v", where, err)
		return nil
	}
	var list []owner
	for _, o := range c.owners {
		if selector.Matches(labels.Set(o.template.Labels)) {
			list = append(list, o)
		}
	}
	if len(list) == 0 || selector.Empty() {
		f.add("%s: %s selects no pod of these files", where, selector)
	}
	return list
}

// ports checks that a port, by number or name, is one of the selected pods'.
func (f *faults) ports(where string, p intstr.IntOrString, pods []owner) {
	for _, o := range pods {
		for _, c := range o.template.Spec.Containers {
			if hasPort(c, p) {
				return
			}
		}
	}
	f.add("%s: no selected pod has the port %s", where, p.String())
}

func hasPort(c corev1.Container, p intstr.IntOrString) bool {
	return slices.ContainsFunc(c.Ports, func(x corev1.ContainerPort) bool {
		return p.Type == intstr.String && x.Name == p.StrVal || p.Type == intstr.Int && x.ContainerPort == p.IntVal
	})
}

// share reads a number or percentage of ten pods.
func (f *faults) share(where, name string, v *intstr.IntOrString) int {
	if v == nil {
		return 1 // a quarter by default
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(v, 10, true)
	if err != nil || n < 0 {
		f.add("%s: %s: %s is neither a number nor a percentage", where, name, v.String())
	}
	return n
}

func (f *faults) owner(o owner) {
	f.labels(o.where, o.template.Labels)
	if s, err := metav1.LabelSelectorAsSelector(o.selector); err != nil || s.Empty() || !s.Matches(labels.Set(o.template.Labels)) {
		f.add("%s: %s selects other pods than it makes", o.where, o.name)
	}
	volumes := map[string]bool{}
	for _, v := range o.template.Spec.Volumes {
		f.label(o.where, "volume", v.Name)
		volumes[v.Name] = true
		if n := set(reflect.ValueOf(v.VolumeSource)); n != 1 {
			f.add("%s: the volume %s has %d sources", o.where, v.Name, n)
		}
	}
	for _, c := range o.claims {
		f.label(o.where, "claim", c.Name)
		volumes[c.Name] = true
		if len(c.Spec.AccessModes) == 0 {
			f.add("%s: the claim %s has no access mode", o.where, c.Name)
		}
		if q := c.Spec.Resources.Requests[corev1.ResourceStorage]; q.Sign() <= 0 {
			f.add("%s: the claim %s asks for no storage", o.where, c.Name)
		}
	}
	if s := o.template.Spec.TerminationGracePeriodSeconds; s != nil && *s < 0 {
		f.add("%s: terminationGracePeriodSeconds %d is negative", o.where, *s)
	}
	if len(o.template.Spec.Containers) == 0 {
		f.add("%s: no containers", o.where)
	}
	for _, c := range o.template.Spec.Containers {
		f.container(o.where+", container "+c.Name, c, volumes)
	}
}

func (f *faults) label(where, what, name string) {
	for _, e := range validation.IsDNS1123Label(name) {
		f.add("%s: the %s %s: %s", where, what, name, e)
	}
}

// set counts the pointers of a struct that are not nil.
func set(v reflect.Value) int {
	n := 0
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Pointer && !v.Field(i).IsNil() {
			n++
		}
	}
	return n
}

// variable is a reference to one in a container's arguments.
var variable = regexp.MustCompile(`\$\(([^)]*)\)`)

// fieldPaths are the fields of a pod that a variable may have, besides labels.
var fieldPaths = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.podIP", "status.podIPs",
}

func (f *faults) container(where string, c corev1.Container, volumes map[string]bool) {
	f.label(where, "name", c.Name)
	if c.Image == "" || strings.ContainsAny(c.Image, " \t") {
		f.add("%s has no image", where)
	}
	names := map[string]bool{}
	for _, p := range c.Ports {
		for _, e := range validation.IsValidPortNum(int(p.ContainerPort)) {
			f.add("%s: port %d: %s", where, p.ContainerPort, e)
		}
		for _, e := range validation.IsValidPortName(p.Name) {
			f.add("%s: port %s: %s", where, p.Name, e)
		}
		if names[p.Name] {
			f.add("%s has the port %s twice", where, p.Name)
		}
		names[p.Name] = true
	}
	for _, p := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe} {
		f.probe(where, p, c)
	}
	paths := map[string]bool{}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			f.add("%s mounts %s, which is no volume of the pod", where, m.Name)
		}
		if !path.IsAbs(m.MountPath) || paths[m.MountPath] {
			f.add("%s: the mount path %s is relative or used twice", where, m.MountPath)
		}
		paths[m.MountPath] = true
	}
	variables := map[string]bool{}
	for _, e := range c.Env {
		for _, fault := range validation.IsEnvVarName(e.Name) {
			f.add("%s: variable %s: %s", where, e.Name, fault)
		}
		variables[e.Name] = true
		if e.ValueFrom == nil {
			continue
		}
		if n := set(reflect.ValueOf(*e.ValueFrom)); n != 1 || e.Value != "" {
			f.add("%s: variable %s has %d sources", where, e.Name, n)
		}
		if r := e.ValueFrom.FieldRef; r != nil && !slices.Contains(fieldPaths, r.FieldPath) {
			f.add("%s: variable %s: a pod has no field %s", where, e.Name, r.FieldPath)
		}
	}
	for _, a := range append(slices.Clone(c.Command), c.Args...) {
		for _, m := range variable.FindAllStringSubmatch(a, -1) {
			if !variables[m[1]] {
				f.add("%s: %s has %s, which is no variable of the container", where, a, m[0])
			}
		}
	}
	for name, asked := range c.Resources.Requests {
		if limit, ok := c.Resources.Limits[name]; asked.Sign() < 0 || ok && asked.Cmp(limit) > 0 {
			f.add("%s requests more %s than its limit", where, name)
		}
	}
}

func (f *faults) probe(where string, p *corev1.Probe, c corev1.Container) {
	if p == nil {
		return
	}
	if n := set(reflect.ValueOf(p.ProbeHandler)); n != 1 {
		f.add("%s: a probe with %d actions", where, n)
	}
	var port *intstr.IntOrString
	switch {
	case p.TCPSocket != nil:
		port = &p.TCPSocket.Port
	case p.HTTPGet != nil:
		port = &p.HTTPGet.Port
	}
	if port != nil && !hasPort(c, *port) {
		f.add("%s: the probe's port %s is none of the container's", where, port.String())
	}
	if min(p.InitialDelaySeconds, p.TimeoutSeconds, p.PeriodSeconds, p.SuccessThreshold, p.FailureThreshold) < 0 {
		f.add("%s: a probe with a negative number", where)
	}
}

func (f *faults) service(where string, s *corev1.Service, c cluster) {
	for _, e := range validation.IsDNS1035Label(s.Name) {
		f.add("%s: the name %s: %s", where, s.Name, e)
	}
	pods := f.selected(where, &metav1.LabelSelector{MatchLabels: s.Spec.Selector}, c)
	names := map[string]bool{}
	for _, p := range s.Spec.Ports {
		for _, e := range validation.IsValidPortNum(int(p.Port)) {
			f.add("%s: port %d: %s", where, p.Port, e)
		}
		if names[p.Name] || p.Name == "" && len(s.Spec.Ports) > 1 {
			f.add("%s: each of several ports needs a name of its own: %q", where, p.Name)
		}
		names[p.Name] = true
		target := p.TargetPort
		if target == (intstr.IntOrString{}) {
			target = intstr.FromInt32(p.Port)
		}
		f.ports(where, target, pods)
	}
}

func (f *faults) budget(where string, b *policyv1.PodDisruptionBudget, c cluster) {
	f.selected(where, b.Spec.Selector, c)
	if (b.Spec.MinAvailable == nil) == (b.Spec.MaxUnavailable == nil) {
		f.add("%s: give either minAvailable or maxUnavailable", where)
	}
	f.share(where, "minAvailable", b.Spec.MinAvailable)
	f.share(where, "maxUnavailable", b.Spec.MaxUnavailable)
}

func (f *faults) policy(where string, p *networkingv1.NetworkPolicy, c cluster) {
	pods := f.selected(where, &p.Spec.PodSelector, c)
	for _, rule := range p.Spec.Ingress {
		for _, from := range rule.From {
			if from.PodSelector != nil {
				f.selected(where, from.PodSelector, c)
			}
		}
		for _, port := range rule.Ports {
			if port.Port != nil {
				f.ports(where, *port.Port, pods)
			}
		}
	}
}

func (f *faults) autoscaler(where string, a *autoscalingv2.HorizontalPodAutoscaler, c cluster) {
	least := int32(1)
	if a.Spec.MinReplicas != nil {
		least = *a.Spec.MinReplicas
	}
	if least < 1 || least > a.Spec.MaxReplicas {
		f.add("%s: minReplicas %d, maxReplicas %d", where, least, a.Spec.MaxReplicas)
	}
	target := a.Spec.ScaleTargetRef
	if !slices.ContainsFunc(c.owners, func(o owner) bool {
		return o.kind == target.Kind && o.name == target.Name && target.APIVersion == "apps/v1"
	}) {
		f.add("%s scales %s %s, which is not in these files", where, target.Kind, target.Name)
	}
	if len(a.Spec.Metrics) == 0 {
		f.add("%s has no metric", where)
	}
	for _, m := range a.Spec.Metrics {
		if m.Type != autoscalingv2.ExternalMetricSourceType || m.External == nil {
			f.add("%s: metric of type %s without its source", where, m.Type)
			continue
		}
		q := m.External.Target.Value
		if m.External.Target.Type == autoscalingv2.AverageValueMetricType {
			q = m.External.Target.AverageValue
		}
		if q == nil || q.Sign() <= 0 {
			f.add("%s: the target %s has no such value", where, m.External.Target.Type)
		}
	}
	if b := a.Spec.Behavior; b != nil {
		for _, r := range []*autoscalingv2.HPAScalingRules{b.ScaleUp, b.ScaleDown} {
			if r != nil && r.StabilizationWindowSeconds != nil && (*r.StabilizationWindowSeconds < 0 || *r.StabilizationWindowSeconds > 3600) {
				f.add("%s: stabilizationWindowSeconds %d is not within an hour", where, *r.StabilizationWindowSeconds)
			}
		}
	}
}
