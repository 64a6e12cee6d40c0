package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// campaignReports are the files that flags of a campaign ask for.
func campaignReports(f *campaignFlags) []campaignReport {
	return []campaignReport{{"--html", f.html, report.CampaignPage}, {"--junit", f.junit, report.JUnit}, {"--sarif", f.sarif, report.SARIF}}
}

type campaignReport struct {
	flag, path string
	write      func(io.Writer, report.CampaignOf) error
}

// checkReports fails before the campaign runs if its reports could not be written after it.
func checkReports(f *campaignFlags) error {
	byPath := map[string]string{}
	for _, r := range campaignReports(f) {
		if err := project.Writable(r.flag, r.path); err != nil {
			return err
		}
		path, err := filepath.Abs(r.path)
		if err != nil {
			return err
		}
		if other := byPath[path]; r.path != "" && other != "" {
			return fmt.Errorf("%s and %s both write to %s; give each its own file", other, r.flag, r.path)
		}
		byPath[path] = r.flag
	}
	return project.Writable("--comment", f.comment)
}

// saveReports writes the files that flags ask for.
func saveReports(f *campaignFlags, p *project.Project, doc *CampaignDocument, pages map[string]string) error {
	c := report.CampaignOf{Name: p.Spec.Name, Bloodhound: program.Version(), Config: p.Config, Totals: doc.Campaign, Status: doc.Status,
		ExitCode: doc.ExitCode, Arguments: p.Arguments, Pages: pages}
	if dir, err := os.Getwd(); err == nil {
		c.Config = filepath.ToSlash(flags.RelativeTo(dir, p.Config))
	}
	var errs []error
	for _, r := range campaignReports(f) {
		if r.path == "" {
			continue
		}
		var b bytes.Buffer
		errs = append(errs, r.write(&b, c), project.WriteResult(r.path, b.Bytes()))
		project.RecordOutput(p.Spec, r.path)
	}
	return errors.Join(errs...)
}

// pagesFolder is where the pages of failures lie, beside the page of a campaign; empty for none.
func pagesFolder(f *campaignFlags) string {
	if f.html == "" {
		return ""
	}
	return strings.TrimSuffix(f.html, filepath.Ext(f.html)) + "-failures"
}
