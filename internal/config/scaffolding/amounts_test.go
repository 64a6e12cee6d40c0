package scaffolding

import (
	"strings"
	"testing"
)

// A server that keeps numbers gets a driver that sends its requests, with fields and keys of the source, and properties of the
// numbers at the end.
func TestAmounts(t *testing.T) {
	const kept, addUp = "\n  - name: the total is kept\n", "\n  - name: numbers add up\n"
	for _, c := range []struct {
		name         string
		files        map[string]string
		driver, want []string
		not          []string
	}{
		{"Python, a bank", pythonMain(`def setup():
    for name in ("alice", "bob", "carol"):
        db.execute("INSERT OR IGNORE INTO accounts VALUES (?, 100)", (name,))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/balance/"):
            return self.reply(200, balance(self.path[9:]))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/transfer":
            transfer(body["from"], body["to"], body["amount"])
`), []string{`KEYS = ["alice", "bob", "carol"]`, `request("POST", "/transfer", {"from": c["from"], "to": c["to"], "amount": c["amount"]})`,
			`request("GET", "/balance/%s" % key)`, `("transfer", {"from": key, "to": other, "amount": amount}),`},
			[]string{kept, addUp, "operations: [transfer, read]", "\n  stop: 8s "}, nil},
		{"Python, a function that reads the body, and another reply", pythonMain(`ACCOUNTS = {"a1": 50, "a2": 50}


def move(data):
    store.move(data["src_account"], data.get("dst_account"), int(data["cents"]))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/accounts/"):
            return self.reply({"id": name, "total": total})

    def do_POST(self):
        if self.path != "/transfers":
            return self.reply(404)
        move(json.loads(self.rfile.read()))
`), []string{`KEYS = ["a1", "a2"]`, `{"src_account": c["from"], "dst_account": c["to"], "cents": c["amount"]}`, `body["total"]`, `op == "transfer"`}, []string{kept}, nil},
		{"Flask, deposits and withdrawals below a key", one("server.py", `from flask import Flask, request, jsonify
app = Flask(__name__)

@app.route("/accounts/<id>", methods=["GET"])
def show(id):
    return jsonify({"balance": balance(id)})

@app.route("/accounts/<id>/deposit", methods=["POST"])
def deposit(id):
    add(id, request.get_json()["amount"])

@app.route("/accounts/<id>/withdraw", methods=["POST"])
def withdraw(id):
    add(id, -request.json["amount"])
`), []string{`"/accounts/%s/deposit" % c["key"], {"amount": c["amount"]}`, `("withdraw", {"key": key, "from": key, "amount": amount}),`,
			`KEYS = ["k0",`, `c = {"key": key, "amount": 100, "request": "first-%s" % key}`}, []string{addUp, "[deposit, withdraw, read]", "Install its packages for the python3 in /usr/bin"}, []string{kept}},
		{"FastAPI with models", one("server.py", `from fastapi import FastAPI
from pydantic import BaseModel, Field
app = FastAPI()

class Opening(BaseModel):
    id: str
    balance: int

class Transfer(BaseModel):
    source: str = Field(alias="from")
    to: str
    amount: int
    request_id: str

@app.post("/accounts")
def create(body: Opening):
    pass

@app.get("/accounts/{account_id}")
def read(account_id: str):
    return {"id": account_id, "balance": 1}

@app.post("/transfers")
def move(body: Transfer):
    pass
`), []string{`request("POST", "/accounts", {"id": c["key"], "balance": c["amount"]})`, `"from": c["from"]`, `"request_id": c["request"]`, `"request": unique`},
			[]string{kept, "creates its keys with POST /accounts"}, nil},
		{"Express, accounts with numbers", nodeMain(`const app = require('express')();
app.use(express.json());
for (let i = 1; i <= 3; i++) db.run("INSERT INTO accounts VALUES (?, 100)", i);
app.get('/balance/:id', (req, res) => res.json(balance(req.params.id)));
app.post('/transfer', (req, res) => {
  const { from, to, amount } = req.body;
  transfer(from, to, amount);
});
app.listen(3000);
`), []string{"KEYS = [1, 2, 3]", `{"from": c["from"], "to": c["to"], "amount": c["amount"]}`}, []string{kept}, nil},
		{"Go, tags of a struct", goMain(`func main() {
	for i := 0; i < 5; i++ {
		accounts[fmt.Sprintf("acct%d", i)] = 100
	}
	http.HandleFunc("POST /transfer", transfer)
	http.HandleFunc("GET /balance", balance)
	http.ListenAndServe(":8080", nil)
}

func balance(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, accounts[r.URL.Query().Get("account")])
}

func transfer(w http.ResponseWriter, r *http.Request) {
	var body struct {
		From   string ` + "`json:\"from\"`" + `
		To     string ` + "`json:\"to\"`" + `
		Amount int    ` + "`json:\"amount\"`" + `
	}
	json.NewDecoder(r.Body).Decode(&body)
}
`), []string{`{"from": c["from"], "to": c["to"], "amount": c["amount"]}`, `request("GET", "/balance?account=%s" % key)`}, []string{kept}, nil},
		{"comments", pythonMain(`class Handler(BaseHTTPRequestHandler):
    # GET  /balance/ID
    # POST /transfer {"from": "a", "to": "b", "amount": 5}
    def do_GET(self):
        serve(self)

    def do_POST(self):
        serve(self)
`), []string{`{"from": c["from"], "to": c["to"], "amount": c["amount"]}`}, []string{kept}, nil},
		{"a store", pythonMain(`class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/items/"):
            reply()

    def do_PUT(self):
        if self.path.startswith("/items/"):
            body = json.loads(self.rfile.read())
            store(body["name"], body["value"])
`), nil, []string{"driver: http"}, []string{addUp}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, _ := configured(t, c.files)
			expect(t, text, c.want, c.not)
			expect(t, driverOf(t, c.files), c.driver, []string{"# SENDS", "# DRAWS", "PATH", "NUMBER"})
		})
	}
}

// driverOf is the driver that init writes beside a configuration.
func driverOf(t *testing.T, files map[string]string) string {
	t.Helper()
	return string(best(t, files).Files[StarterNames[0]])
}

// The keys of a source are those that it creates, not other lists of words.
func TestKeysOfSources(t *testing.T) {
	for source, want := range map[string]string{
		`for n in ["ann", "bob"]:` + "\n    accounts[n] = 100":                                        `"ann" "bob"`,
		`db.executemany("INSERT", [("ann", 100), ("bob", 50)])`:                                       `"ann" "bob"`,
		`ACCOUNTS = {"ann": 100, "bob": 100}`:                                                         `"ann" "bob"`,
		"N = 3\nfor i in range(N):\n    db.execute(\"INSERT INTO accounts\", (f\"acct-{i}\", 100))":   `"acct-0" "acct-1" "acct-2"`,
		"for i in range(1, 4):\n    db.execute(\"INSERT INTO accounts VALUES (?, 100)\", (i,))":       `1 2 3`,
		"for i in range(2):\n    db.execute(\"INSERT INTO accounts VALUES (?, 100)\", (str(i),))":     `"0" "1"`,
		`@app.route("/accounts", methods=["GET", "POST"])`:                                            ``,
		`return {"id": 1, "balance": 2}`:                                                              ``,
		"for i in range(10):\n    retry()":                                                            ``,
		"for i in range(N):\n    accounts[i] = 0":                                                     ``,
		`cursor.execute("INSERT INTO accounts (id, balance) VALUES (?, ?)", ("id", "balance"))`:       ``,
		strings.Repeat("[(", 100) + strings.Repeat(`for i in range(range(range(`, 100) + " accounts ": ``,
	} {
		if got := strings.Join(keysIn(source), " "); got != want {
			t.Errorf("%s: keys %s, want %s", source, got, want)
		}
	}
}
