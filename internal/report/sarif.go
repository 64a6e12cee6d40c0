package report

import (
	"encoding/json"
	"io"
	"net/url"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
)

// SARIF 2.1.0 (OASIS, 2020): a rule is a property, a result is a failure, and its place is the configuration that
// states the property. What keeps the campaign from proving anything is a notification of its invocation.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string         `json:"id"`
		ShortDescription sarifText      `json:"shortDescription"`
		Properties       map[string]any `json:"properties,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		ExitCode      int                 `json:"exitCode"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   map[string]any    `json:"properties"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// SARIF writes a campaign as SARIF 2.1.0.
func SARIF(w io.Writer, c CampaignOf) error {
	t := c.Totals
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
		Tool: sarifTool{sarifDriver{Name: "bloodhound", Version: Visible(c.Bloodhound, pageValueRunes),
			InformationURI: "https://github.com/bloodhound-dst/bloodhound", Rules: []sarifRule{}}}}
	for _, p := range t.Properties {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: Visible(p.Property, pageValueRunes),
			ShortDescription: sarifText{Visible(p.Property+" ("+p.Kind+")", pageLineRunes)},
			Properties:       map[string]any{"holds": p.Holds, "violated": p.Violated, "unknown": p.Unknown}})
	}
	for _, f := range t.Failures {
		run.Results = append(run.Results, c.sarifResult(f, &run.Tool.Driver))
	}
	for i := range t.Committed {
		if k := &t.Committed[i]; k.Standing == explore.StillFails &&
			!slices.ContainsFunc(t.Failures, func(f *explore.Failure) bool { return f.Signature == k.Signature }) {
			f := explore.Failure{Failure: k.Failure, Near: k.File, Verdict: *k.Verdict}
			run.Results = append(run.Results, c.sarifResult(&f, &run.Tool.Driver))
		}
	}
	call := sarifInvocation{Successful: !c.Status.Failed, ExitCode: c.ExitCode}
	for _, text := range c.troubles() {
		level := "warning"
		if c.Status.Failed {
			level = "error"
		}
		call.Notifications = append(call.Notifications, sarifNotification{level, sarifText{Visible(text, pageLineRunes)}})
	}
	for _, p := range t.Properties {
		if p.Unjudged() {
			unknown, reason := p.Doubt()
			call.Notifications = append(call.Notifications, sarifNotification{"warning",
				sarifText{Visible(p.Property+" is unknown in "+often(unknown, t.Runs)+": "+reason, pageLineRunes)}})
		}
		if p.Never() {
			call.Notifications = append(call.Notifications, sarifNotification{"warning",
				sarifText{Visible(p.Property+" did not happen in any run: "+p.Reason, pageLineRunes)}})
		}
	}
	run.Invocations = []sarifInvocation{call}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func (c *CampaignOf) sarifResult(f *explore.Failure, d *sarifDriver) sarifResult {
	t := c.Totals
	id := Visible(f.Verdict.Property, pageValueRunes)
	index := slices.IndexFunc(d.Rules, func(r sarifRule) bool { return r.ID == id })
	if index < 0 {
		index = len(d.Rules)
		d.Rules = append(d.Rules, sarifRule{ID: id, ShortDescription: sarifText{id}})
	}
	text := Visible(f.Property+": "+f.Headline, pageLineRunes) + " (" + showed(f, t.Runs) + "). Replay: " + Visible(c.replay(f), pageLineRunes)
	r := sarifResult{RuleID: id, RuleIndex: index, Level: "error", Message: sarifText{text},
		Fingerprints: map[string]string{"bloodhound/v1": f.ID},
		Properties:   map[string]any{"seed": f.Tape.Seed, "runs": f.Runs, "of": t.Runs, "hash": f.Hash}}
	if c.Config != "" {
		place := url.URL{Path: c.Config}
		r.Locations = []sarifLocation{{sarifPhysical{sarifArtifact{place.EscapedPath()}, sarifRegion{1}}}}
	}
	return r
}
