package metrics

import _ "embed"

// AlertRules is a rule file for Prometheus: runs that are stuck, collapsed,
// over-fitting, short of disk space or waiting for long.
//
//go:embed alerts.yaml
var AlertRules string
