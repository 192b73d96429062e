package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kubernetesFiles are the files whose objects belong together.
var kubernetesFiles = []string{"trainer.yaml", "workers.yaml"}

// kubernetesText reads a file of the folder kubernetes.
func kubernetesText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("kubernetes", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// judge names every fault of the files, of which one may have been changed.
func judge(t *testing.T, changed, text string) []string {
	t.Helper()
	var f faults
	var all []manifest
	for _, file := range kubernetesFiles {
		if file != changed {
			all = append(all, f.decode(file, kubernetesText(t, file))...)
		} else {
			all = append(all, f.decode(file, text)...)
		}
	}
	f.objects(all)
	return f.list
}

func TestKubernetesObjectsAreValidAndFitEachOther(t *testing.T) {
	for _, fault := range judge(t, "", "") {
		t.Error(fault)
	}
}

func TestThereIsOneTrainer(t *testing.T) {
	var f faults
	for _, m := range f.decode("trainer.yaml", kubernetesText(t, "trainer.yaml")) {
		if s := m.stateful(); s != nil && (s.Spec.Replicas == nil || *s.Spec.Replicas != 1) {
			t.Error("there must be one trainer")
		}
	}
}

func TestFaultsInKubernetesFilesAreFound(t *testing.T) {
	for _, c := range []struct {
		file, old, new string // the first old becomes new
		want           string // is part of a fault
	}{
		// What the API server's decoding refuses.
		{"trainer.yaml", "terminationGracePeriodSeconds", "terminationGracePeriod", `unknown field "spec.template.spec.terminationGracePeriod"`},
		{"trainer.yaml", "replicas: 1", "Replicas: 1", `unknown field "spec.Replicas"`},
		{"trainer.yaml", "replicas: 1", `replicas: "1"`, "cannot unmarshal string into Go struct field StatefulSetSpec.spec.replicas of type int32"},
		{"trainer.yaml", "replicas: 1", "replicas: 1\n  replicas: 2", `key "replicas" already set`},
		{"trainer.yaml", "runAsNonRoot: true", "runAsNonRoot: truly", "cannot unmarshal string"},
		{"trainer.yaml", "memory: 2Gi", "memory: 2GiB", "quantities must match"},
		{"trainer.yaml", "storage: 50Gi", "storage: fifty", "quantities must match"},
		{"trainer.yaml", "kind: StatefulSet", "kind: StatefullSet", "no kind StatefullSet of apps/v1"},
		{"workers.yaml", "autoscaling/v2", "autoscaling/v1", "no kind HorizontalPodAutoscaler of autoscaling/v1"},
		{"workers.yaml", "containers:", "container:", `unknown field "spec.template.spec.container"`},
		// What is missing.
		{"workers.yaml", "containers:", "initContainers:", "spec.template.spec.containers is missing"},
		{"workers.yaml", "  selector:\n    matchLabels: {app: kirin, part: worker}\n  strategy", "  strategy", "spec.selector is missing"},
		{"workers.yaml", "          image: kirin:latest\n", "", "has no image"},
		{"workers.yaml", "- name: kirin\n          image", "- image", "spec.template.spec.containers[0].name is missing"},
		{"workers.yaml", "  maxReplicas: 200\n", "", "spec.maxReplicas is missing"},
		{"workers.yaml", ", mountPath: /work", "", "volumeMounts[0].mountPath is missing"},
		{"workers.yaml", `, averageValue: "1"`, "", "the target AverageValue has no such value"},
		{"workers.yaml", "  maxUnavailable: 50%\n", "", "minAvailable or maxUnavailable"},
		{"trainer.yaml", "        accessModes: [ReadWriteOnce]\n", "", "no access mode"},
		{"trainer.yaml", "  serviceName: kirin-trainer\n", "", "spec.serviceName is missing"},
		{"trainer.yaml", "replicas: 1 # one trainer works on a run", "replicas:", "spec.replicas is empty"},
		// Words and numbers that mean nothing.
		{"workers.yaml", "type: AverageValue", "type: Average", `type: "Average" is none of`},
		{"workers.yaml", "type: External", "type: Outside", `type: "Outside" is none of`},
		{"trainer.yaml", "[ReadWriteOnce]", "[ReadWriteTwice]", `"ReadWriteTwice" is none of`},
		{"trainer.yaml", "policyTypes: [Ingress]", "policyTypes: [Incoming]", `"Incoming" is none of`},
		{"trainer.yaml", `requests: {cpu: "4", memory`, `requests: {cpus: "4", memory`, `"cpus" is none of`},
		{"workers.yaml", "maxUnavailable: 25%", "maxUnavailable: quarter", "maxUnavailable"},
		{"workers.yaml", "maxUnavailable: 25%", "maxUnavailable: 0", "can be replaced"},
		{"workers.yaml", "minReplicas: 1", "minReplicas: 500", "minReplicas 500"},
		{"workers.yaml", "stabilizationWindowSeconds: 600", "stabilizationWindowSeconds: 86400", "stabilizationWindowSeconds"},
		{"workers.yaml", "terminationGracePeriodSeconds: 45", "terminationGracePeriodSeconds: -1", "terminationGracePeriodSeconds"},
		{"workers.yaml", "limits: {memory: 2Gi}", "limits: {memory: 2Mi}", "requests more memory"},
		{"trainer.yaml", "containerPort: 5475", "containerPort: 75475", "port 75475"},
		{"trainer.yaml", "{name: metrics, containerPort", "{name: weights, containerPort", "the port weights twice"},
		{"trainer.yaml", "name: kirin-trainer\n", "name: Kirin_Trainer\n", "the name Kirin_Trainer"},
		{"trainer.yaml", "labels: {app: kirin, part: trainer}", `labels: {app: kirin, part: "the trainer"}`, "the trainer"},
		{"workers.yaml", "mountPath: /work", "mountPath: work", "the mount path work"},
		// What does not fit.
		{"trainer.yaml", "{name: runs, mountPath", "{name: run, mountPath", "mounts run, which is no volume"},
		{"workers.yaml", "- name: work\n", "- name: home\n", "mounts work, which is no volume"},
		{"trainer.yaml", "tcpSocket: {port: queue}", "tcpSocket: {port: qeue}", "the probe's port qeue"},
		{"trainer.yaml", "{name: queue, port: 5475}", "{name: queue, port: 5477}", "no selected pod has the port 5477"},
		{"trainer.yaml", "        - {port: 5476}", "        - {port: 5477}", "no selected pod has the port 5477"},
		{"trainer.yaml", "serviceName: kirin-trainer", "serviceName: trainer", "serviceName trainer"},
		{"trainer.yaml", "    matchLabels: {app: kirin, part: trainer}", "    matchLabels: {app: kirin, part: coach}", "selects other pods than it makes"},
		{"trainer.yaml", "matchLabels: {app: kirin, part: worker}", "matchLabels: {app: kirin, part: player}", "selects no pod"},
		{"workers.yaml", "  maxUnavailable: 50%\n  selector:\n    matchLabels: {app: kirin, part: worker}", "  maxUnavailable: 50%\n  selector:\n    matchLabels: {app: kirin, part: player}", "selects no pod"},
		{"workers.yaml", "kind: Deployment, name: kirin-worker}", "kind: Deployment, name: kirin-wrker}", "scales Deployment kirin-wrker"},
		{"workers.yaml", "- name: POD_NAME", "- name: POD", "$(POD_NAME), which is no variable"},
		{"workers.yaml", "fieldPath: metadata.name", "fieldPath: metadata.nome", "metadata.nome"},
	} {
		text := kubernetesText(t, c.file)
		if !strings.Contains(text, c.old) {
			t.Errorf("%s has no %q", c.file, c.old)
			continue
		}
		found := judge(t, c.file, strings.Replace(text, c.old, c.new, 1))
		if !strings.Contains(strings.Join(found, "\n"), c.want) {
			t.Errorf("%s with %q: found %q, want %q", c.file, c.new, found, c.want)
		}
	}
}
