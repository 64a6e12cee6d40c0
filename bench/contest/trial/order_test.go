package trial

import (
	"testing"
	"time"
)

// A program has its timeout to begin its campaign, and from there on the timeout again and some more.
func TestTimeOfAnOrder(t *testing.T) {
	dir := t.TempDir()
	o := &Order{TimeoutNs: int64(time.Minute)}
	if err := o.Save(dir); err != nil {
		t.Fatal(err)
	}
	if left := o.Left(dir, 20*time.Second); left != 40*time.Second {
		t.Errorf("%s are left at first", left)
	}
	if left := o.Left(dir, time.Minute); left != 0 || Begun(dir) {
		t.Errorf("%s are left of a program that has not begun", left)
	}
	if _, err := ordered(dir); err != nil || !Begun(dir) {
		t.Fatal(err)
	}
	if left := o.Left(dir, time.Minute); left <= Overtime || left > Overtime+time.Minute {
		t.Errorf("%s are left of a campaign that has just begun", left)
	}
	if err := new(Answer).Save(dir); err != nil {
		t.Fatal(err)
	}
	if left := o.Left(dir, time.Minute); left != 0 {
		t.Errorf("%s are left of a program that has answered", left)
	}
}
