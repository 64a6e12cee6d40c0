package prometheus

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

// definitions are the variables that Prometheus gives templates of labels and annotations.
const definitions = `{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}`

// expand fills a template of a label or an annotation. What cannot be filled stays as it is written, with the reason.
func expand(text string, of labels.Labels, value float64) string {
	data := template.AlertTemplateData(of.Map(), map[string]string{}, "", promql.Sample{F: value, Metric: of})
	nothing := func(context.Context, string, time.Time) (promql.Vector, error) {
		return nil, fmt.Errorf("templates cannot query")
	}
	out, err := template.NewTemplateExpander(context.Background(), definitions+text, "alert", data, model.Time(0), nothing, nil, nil).Expand()
	if err != nil {
		return fmt.Sprintf("%s (%v)", text, err)
	}
	return out
}

// summary returns the text of an alert: its annotation summary, message or description, or else its expression.
func (a *alert) summary() string {
	for _, name := range []string{"summary", "message", "description"} {
		if text := a.rule.Annotations[name]; text != "" {
			return expand(text, a.labels, a.value)
		}
	}
	return a.rule.Expr
}

// description is the annotation of that name, or nothing.
func (a *alert) description() string {
	if text := a.rule.Annotations["description"]; text != "" {
		return expand(text, a.labels, a.value)
	}
	return ""
}
