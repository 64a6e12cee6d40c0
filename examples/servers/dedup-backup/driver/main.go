// Command driver is the driver of this world: the users of the backup service. While things go wrong they make new versions
// of their objects, have them backed up, restore some and delete some. After a quiet period they see every job through,
// restore every version that they hold, delete everything, and look into the database and the servers' folders for what is
// left.
//
// It keeps all versions and all attempts, and reports
//
//	put         a job: the key is the version, such as o3@2, the input the digest of what the source holds; fail: the job failed
//	get         a restore: the digest of what came back, or nothing
//	delete      a backup is deleted
//	references  the references that the database still has in the end, a JSON array
//	files       the files that the servers still have in the end, a JSON array
//
// Each job is a client of its own, named for its version: what one job did can be left out ($BLOODHOUND_SKIP) without a shift
// in what the others do.
//
// It knows nothing of steps, rows or faults.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/report"
)

// What a driver may leave out or do wrong; the mutants show that such a world does not pass.
const (
	none       = "none"
	idle       = "idle"         // does nothing
	noBackups  = "no-backups"   // never has anything backed up
	noRestores = "no-restores"  // never restores
	noLook     = "no-look"      // does not look for what is left
	keepOne    = "keep-one"     // forgets to delete a version
	wrongBytes = "wrong-digest" // is wrong about what the source holds
	lostSource = "lost-source"  // has a version backed up that the source does not have
)

type options struct {
	source   string
	servers  []string
	database string
	clients  int
	objects  int           // of each client
	busy     time.Duration // how long the first part is; faults end with it
	wait     time.Duration // from there to the second part
	timeout  time.Duration // of an operation
	mutation string
}

func main() {
	log.SetFlags(0)
	var o options
	flag.StringVar(&o.source, "source", "", "URL of the source")
	servers := flag.String("servers", "", "URLs of the backup servers, separated by commas")
	flag.StringVar(&o.database, "database", "", "URL of the database, for the look into it")
	flag.IntVar(&o.clients, "clients", 4, "users")
	flag.IntVar(&o.objects, "objects", 2, "objects of each user")
	flag.DurationVar(&o.busy, "busy", 8*time.Second, "how long users work before all is seen through")
	flag.DurationVar(&o.wait, "wait", 2*time.Second, "how long they wait then")
	flag.DurationVar(&o.timeout, "timeout", 20*time.Second, "how long an operation may take")
	flag.StringVar(&o.mutation, "mutation", none, "what to do wrong: idle, no-backups, no-restores, no-look, keep-one, wrong-digest, lost-source")
	flag.Parse()
	o.servers = strings.Split(*servers, ",")
	if o.source == "" || *servers == "" || o.database == "" || o.clients < 1 || o.objects < 1 || flag.NArg() > 0 {
		log.Fatal("driver: -source, -servers and -database are URLs, -clients and -objects at least 1")
	}
	if !slices.Contains([]string{none, idle, noBackups, noRestores, noLook, keepOne, wrongBytes, lostSource}, o.mutation) {
		log.Fatalf("driver: no mutation %q", o.mutation)
	}
	if o.mutation == idle {
		return
	}
	d := &driver{options: o, report: report.Open(), start: time.Now(), unknown: map[string]bool{}}
	d.each(d.work)
	time.Sleep(time.Until(d.start.Add(o.busy + o.wait)))
	d.each(d.finish)
	if o.mutation != noLook {
		d.look()
	}
}

type driver struct {
	options
	report *report.Log
	start  time.Time
	users  []*user

	mu sync.Mutex
	// unknown are the references of attempts of which it is unknown whether they hold anything.
	unknown map[string]bool
}

// each lets all users do something at the same time, and waits until they are done.
func (d *driver) each(do func(*user)) {
	for i := len(d.users); i < d.clients; i++ {
		d.users = append(d.users, &user{driver: d, number: i, random: report.Random(), versions: map[int]int{}})
	}
	var all sync.WaitGroup
	for _, u := range d.users {
		all.Go(func() { do(u) })
	}
	all.Wait()
}

// user has objects, and one operation at a time.
type user struct {
	*driver
	number   int
	random   *rand.Rand
	versions map[int]int // of each object, the latest
	backups  []*backup
}

// backup is a version and the outcome of its backup.
type backup struct {
	version  string
	digest   string
	attempts int
	row      url.Values // where the content is; nil: not backed up, as far as the user knows
	// doubtful: an attempt or a deletion has an unknown outcome.
	doubtful  bool
	reference string
	deleted   bool

	operations int // so far, with those that are left out
	retired    int // clients of the job whose last operation has an unknown outcome
	// absent: an attempt was left out. The user continues as if the backup were there, and leaves out all that follows.
	absent bool
}

// leavesOut counts an operation of a job and reports whether it is left out.
func (u *user) leavesOut(b *backup) bool {
	k := b.operations
	b.operations++
	return b.absent || u.report.Skips(b.version, k)
}

// work is the first part.
func (d *driver) work(u *user) {
	for time.Since(d.start) < d.busy {
		time.Sleep(time.Duration(20+u.random.IntN(80)) * time.Millisecond)
		switch n := u.random.IntN(10); {
		case n < 6:
			b := u.change()
			for range 3 {
				if b == nil || b.row != nil || b.doubtful || time.Since(d.start) >= d.busy {
					break
				}
				u.put(b)
			}
		case n < 8:
			if b := u.any(); b != nil {
				u.get(b)
			}
		default:
			if b := u.any(); b != nil {
				u.delete(b)
			}
		}
	}
}

// finish is the second part: nothing goes wrong any more.
func (d *driver) finish(u *user) {
	// The jobs that have failed so far are tried again, and so is each object once more.
	for range d.objects {
		u.change()
	}
	for _, b := range u.backups {
		repeat(func() bool { return b.row != nil || b.doubtful || u.put(b) })
	}
	for _, b := range u.backups {
		repeat(func() bool { return b.row == nil || b.deleted || u.get(b) })
	}
	for i, b := range u.backups {
		if d.mutation == keepOne && u.number == 0 && i == len(u.backups)-1 {
			continue
		}
		repeat(func() bool { return b.row == nil || b.deleted || u.delete(b) })
	}
}

// repeat tries until something is done, but not for ever.
func repeat(done func() bool) {
	for range 10 {
		if done() {
			return
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// any picks a backup that the user holds.
func (u *user) any() *backup {
	var held []*backup
	for _, b := range u.backups {
		if b.row != nil && !b.doubtful && !b.deleted {
			held = append(held, b)
		}
	}
	if len(held) == 0 {
		return nil
	}
	return held[u.random.IntN(len(held))]
}

// change makes a new version of an object at the source. Most objects are copies of the same few things, such as the latest
// release of something: what is new for one user is new for all.
func (u *user) change() *backup {
	object := u.number*u.objects + u.random.IntN(u.objects)
	u.versions[object]++
	version := fmt.Sprintf("o%d@%d", object, u.versions[object])
	content := fmt.Sprintf("release %d\n", time.Since(u.start)/(500*time.Millisecond))
	if u.random.IntN(5) == 0 {
		content = version + "\n"
	}
	content = strings.Repeat(content, 20)
	url := u.source + "/" + version
	if u.mutation == lostSource && version == "o0@1" {
		url += "~lost"
	}
	status, text, err := u.call(http.MethodPut, url, content)
	if err != nil || status != http.StatusNoContent {
		log.Printf("%s: the source did not take it: %d %s %v", version, status, text, err)
		return nil
	}
	b := &backup{version: version, digest: digest(content)}
	if u.mutation == wrongBytes {
		b.digest = digest(content + "?")
	}
	u.backups = append(u.backups, b)
	return b
}

// put has a version backed up, by an attempt with a reference of its own. It says whether that is settled.
func (u *user) put(b *backup) bool {
	if u.mutation == noBackups {
		return true
	}
	b.attempts++
	b.reference = fmt.Sprintf("%s~%d", b.version, b.attempts)
	server := u.servers[u.random.IntN(len(u.servers))]
	if u.leavesOut(b) {
		b.absent, b.row = true, url.Values{}
		return true
	}
	r := record{Op: "put", Key: b.version, Input: b.digest, Node: host(server)}
	u.invoke(b, &r)
	status, text, err := u.call(http.MethodPost, server+"/backups/"+b.reference+"?source="+url.QueryEscape(u.source+"/"+b.version), "")
	row := map[string]string{}
	switch {
	case err == nil && status == http.StatusOK && json.Unmarshal(text, &row) == nil:
		b.row = url.Values{}
		for name, value := range row {
			b.row.Set(name, value)
		}
		u.complete(b, &r, "ok", "")
	case err == nil && status == http.StatusInternalServerError || report.NeverSent(err):
		u.complete(b, &r, "fail", reason(status, text, err))
		return false
	default:
		b.doubtful = true
		u.stays(b)
		u.complete(b, &r, "info", reason(status, text, err))
	}
	return true
}

// stays says that the backup's reference need not be gone in the end.
func (d *driver) stays(b *backup) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unknown[b.reference] = true
}

// get restores a version. It says whether there was an answer, also if the answer is that there is nothing.
func (u *user) get(b *backup) bool {
	if u.mutation == noRestores {
		return true
	}
	server := u.servers[u.random.IntN(len(u.servers))]
	if u.leavesOut(b) {
		return true
	}
	r := record{Op: "get", Key: b.version, Node: host(server)}
	u.invoke(b, &r)
	status, text, err := u.call(http.MethodGet, server+"/backups/"+b.reference+"?"+b.row.Encode(), "")
	found := status == http.StatusOK
	switch {
	case err == nil && found:
		r.Output, r.Found = digest(string(text)), &found
	case err == nil && status == http.StatusNotFound:
		log.Printf("restore of %s: %s", b.reference, text)
		r.Found = &found
	default:
		u.complete(b, &r, "fail", reason(status, text, err))
		return false
	}
	u.complete(b, &r, "ok", "")
	return true
}

// delete deletes a backup, and says whether it is gone.
func (u *user) delete(b *backup) bool {
	server := u.servers[u.random.IntN(len(u.servers))]
	if u.leavesOut(b) {
		if b.deleted = true; !b.absent {
			u.stays(b)
		}
		return true
	}
	r := record{Op: "delete", Key: b.version, Node: host(server)}
	u.invoke(b, &r)
	status, text, err := u.call(http.MethodDelete, server+"/backups/"+b.reference+"?"+b.row.Encode(), "")
	switch {
	case err == nil && status == http.StatusNoContent:
		b.deleted = true
		u.complete(b, &r, "ok", "")
	case report.NeverSent(err):
		u.complete(b, &r, "fail", reason(status, text, err))
	default:
		b.doubtful = true
		u.complete(b, &r, "info", reason(status, text, err))
	}
	return b.deleted
}

// look waits until nothing is left of all that was deleted, for five seconds at most, and reports what is left then.
func (d *driver) look() {
	u, b := &user{driver: d, number: d.clients}, &backup{version: "look"}
	wait := time.Now().Add(5 * time.Second)
	for time.Now().Before(wait) {
		references, err1 := d.references()
		files, err2 := d.files()
		if err1 == nil && err2 == nil && len(references) == 0 && len(files) == 0 {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	for _, part := range []struct {
		name string
		look func() ([]string, error)
	}{{"references", d.references}, {"files", d.files}} {
		if u.leavesOut(b) {
			continue
		}
		r := record{Op: part.name, Key: part.name}
		u.invoke(b, &r)
		left, err := part.look()
		if err != nil {
			u.complete(b, &r, "fail", err.Error())
			continue
		}
		text, err := json.Marshal(left)
		if err != nil {
			log.Fatal(err)
		}
		r.Output = string(text)
		u.complete(b, &r, "ok", "")
	}
}

// references are those that the database has. Those of attempts of unknown outcome are left out: no client could delete them.
func (d *driver) references() ([]string, error) {
	ctx, stop := context.WithTimeout(context.Background(), d.timeout)
	defer stop()
	conn, err := pgx.Connect(ctx, d.database)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT unnest(refs) FROM content ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	left := []string{}
	for _, reference := range all {
		if !d.unknown[reference] {
			left = append(left, reference)
		}
	}
	return left, err
}

// files are those that the servers have. With an attempt of unknown outcome there may be some.
func (d *driver) files() ([]string, error) {
	left := []string{}
	for _, server := range d.servers {
		status, text, err := d.call(http.MethodGet, server+"/files", "")
		if err != nil || status != http.StatusOK {
			return nil, errors.New(reason(status, text, err))
		}
		var names []string
		if err := json.Unmarshal(text, &names); err != nil {
			return nil, err
		}
		for _, name := range names {
			left = append(left, host(server)+":"+name)
		}
	}
	if len(d.unknown) > 0 {
		left = []string{}
	}
	return left, nil
}

// call performs one request, once.
func (d *driver) call(method, url, body string) (status int, text []byte, err error) {
	ctx, stop := context.WithTimeout(context.Background(), d.timeout)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// client keeps connections open. On one that was used before, Go's transport sends a request again if nothing of it was
// written, or if it is a read.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}

func reason(status int, text []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("status %d: %s", status, strings.TrimSpace(string(text)))
}

func host(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	return u.Hostname()
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:8])
}

// record is one line of $BLOODHOUND_REPORT.
type record struct {
	Client string `json:"client"`
	Type   string `json:"type"` // invoke, ok, fail, info
	Op     string `json:"op"`
	Key    string `json:"key"`
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
	Found  *bool  `json:"found,omitempty"`
	Error  string `json:"error,omitempty"`
	Node   string `json:"node,omitempty"`
}

func (u *user) invoke(b *backup, r *record) {
	r.Client, r.Type = fmt.Sprintf("%s.%d", b.version, b.retired), "invoke"
	u.report.Write(r)
}

// complete reports an operation's end. After an unknown one the job continues under another name.
func (u *user) complete(b *backup, r *record, how, why string) {
	r.Type, r.Error = how, why
	u.report.Write(r)
	if how == "info" {
		b.retired++
	}
}
