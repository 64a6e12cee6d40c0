#!/bin/sh
# Two clients write and read rows and report each operation; then pgbench runs transactions over several connections.
set -u
export PGHOST=db PGUSER=postgres PGDATABASE=postgres PGCONNECT_TIMEOUT=2
until psql -qAtc 'create table if not exists kv (k text primary key, v text)' 2>/dev/null; do sleep 0.2; done

say() { echo "$1" >>"$BLOODHOUND_REPORT"; }

client() {
	n=0
	while [ $n -lt 5 ]; do
		n=$((n + 1))
		key=k$((n % 3))
		say '{"client":"'$1'","type":"invoke","op":"put","key":"'$key'","input":"'$1-$n'"}'
		if psql -qc "insert into kv values ('$key', '$1-$n') on conflict (k) do update set v = excluded.v"; then
			say '{"client":"'$1'","type":"ok"}'
		else
			say '{"client":"'$1'","type":"info"}'
			return
		fi
		say '{"client":"'$1'","type":"invoke","op":"get","key":"'$key'"}'
		if value=$(psql -qAtc "select v from kv where k = '$key'"); then
			say '{"client":"'$1'","type":"ok","output":"'$value'"}'
		else
			say '{"client":"'$1'","type":"info"}'
			return
		fi
	done
}

client a &
client b &
wait
psql -qc "create table account (id int primary key, balance int); insert into account select n, 100 from generate_series(1, 1000) n"
cat >/tmp/transfer.sql <<END
\set from random(1, 1000)
\set to random(1, 1000)
begin;
update account set balance = balance - 1 where id = :from;
select balance from account where id = :to;
update account set balance = balance + 1 where id = :to;
commit;
END
"$(ls -d /usr/lib/postgresql/*/bin | tail -1)/pgbench" --no-vacuum --client 3 --jobs 3 --transactions 20 --max-tries 10 --file /tmp/transfer.sql
test "$(psql -qAtc 'select sum(balance) from account')" = 100000
# A query that the server compiles by LLVM. That counts as an operation.
say '{"client":"compiler","type":"invoke","op":"put","key":"compiled","input":"1"}'
psql -qAt >/tmp/compiled <<END
set jit_above_cost = 0;
set jit_inline_above_cost = 0;
set jit_optimize_above_cost = 0;
explain (analyze, timing off) select sum(balance * 2), max(id % 7) from account where balance > id % 3;
select 'sum ' || sum(balance * 2) || ' ' || max(id % 7) from account where balance > id % 3;
END
if grep 'Functions: [1-9]' /tmp/compiled && grep '^sum 200000 6$' /tmp/compiled; then
	say '{"client":"compiler","type":"ok"}'
fi
