package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/model/tlc"
)

// seconds is the time that a manifest expects; false if it says none.
func (x *model) seconds() (int, bool) {
	var h, m, s int
	_, err := fmt.Sscanf(x.Time, "%d:%d:%d", &h, &m, &s)
	return h*3600 + m*60 + s, err == nil
}

// compare runs models here and by TLC, with one worker each, and writes a table. The quick ones come first.
func compare(root, only string, jars []string, expected, limit time.Duration) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	for i := range jars {
		if jars[i], err = filepath.Abs(jars[i]); err != nil {
			return err
		}
	}
	list, _, err := models(root, only)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(x model) bool {
		s, known := x.seconds()
		return !known || time.Duration(s)*time.Second > expected
	})
	slices.SortStableFunc(list, func(a, b model) int {
		s, _ := a.seconds()
		t, _ := b.seconds()
		return s - t
	})
	fmt.Println("| model | expected, s | answer | TLC | distinct | generated | CPU, s | TLC | wall, s | TLC |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for i := range list {
		if err := list[i].row(root, jars, limit); err != nil {
			return err
		}
	}
	return nil
}

// row runs one model both ways.
func (x *model) row(root string, jars []string, limit time.Duration) error {
	ours := apart(root, x, limit)
	dir, err := workplace(root)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 2*limit)
	defer cancel()
	run := tlc.Run{Jars: jars, Spec: filepath.Join(root, x.module), Config: filepath.Join(root, x.Path), Dir: dir,
		Java: []string{"-Dtlc2.tool.impl.Tool.cdot=true"}}
	if ours.Walked {
		run.Options = []string{"-simulate", fmt.Sprintf("num=%d", walks)}
	}
	began := time.Now()
	theirs, failed := run.Check(ctx)
	wall := time.Since(began)
	if theirs == nil {
		return failed
	}
	answer := func(kind, failed string) string {
		switch {
		case failed != "":
			return failed
		case kind != "":
			return kind
		}
		return "holds"
	}
	kind, why := "", ""
	if len(theirs.Violations) > 0 {
		kind = string(theirs.Violations[0].Kind)
	}
	if failed != nil {
		if why = "error"; ctx.Err() != nil {
			why = "no answer in time"
		}
	}
	mine := ""
	switch {
	case ours.Error != "":
		mine = "error"
	case ours.Stopped != "":
		mine = "no answer in time"
	}
	both := func(a, b int) string {
		switch {
		case ours.Walked:
			return ""
		case a == b:
			return fmt.Sprint(a)
		}
		return fmt.Sprintf("%d, TLC %d", a, b)
	}
	s, _ := x.seconds()
	fmt.Printf("| %s | %d | %s | %s | %s | %s | %.1f | %.1f | %.1f | %.1f |\n", strings.TrimPrefix(x.Path, "specifications/"), s,
		answer(string(ours.Kind), mine),
		answer(kind, why), both(ours.Distinct, theirs.Distinct), both(ours.Total, theirs.Generated), ours.CPU,
		theirs.CPU.Seconds(), ours.Seconds, wall.Seconds())
	return nil
}
