#!/bin/sh
# For your CI: has groupsync make the groups of your test database in a sandbox, and looks at one of them.
# Needs the commands groupsync and node, and DATABASE_URL: a fresh database with your migrations and a few customers.
set -eu
cd "$(mktemp -d)"

# The sandbox prints the section `service` of the config. It listens on a free port.
groupsync sandbox --port 0 --existing update >>config.yaml &
sandbox=$!
trap 'kill "$sandbox"' EXIT
until grep -q api_key config.yaml; do kill -0 "$sandbox"; sleep 0.1; done

# Your own `source` and `group`.
cat >>config.yaml <<'YAML'
source: { url: "${DATABASE_URL}", table: customers }
group: { id: id, name: company_name, mapping: { "40": warehouse } }
YAML
groupsync sync    # ends with 0 only if every customer has its group

SERVICE=$(sed -n 's/^ *base_url: //p' config.yaml) KEY=$(sed -n 's/^ *api_key: //p' config.yaml) \
  node --input-type=module <<'JS'
import assert from "node:assert/strict";
const headers = { authorization: `Token ${process.env.KEY}` };
const { groups } = await (await fetch(`${process.env.SERVICE}/sandbox/groups`, { headers })).json();
assert.deepEqual(groups.find((group) => group.user_group_id === "cus-1001")?.mapping, { 40: "eu-1" });
JS
