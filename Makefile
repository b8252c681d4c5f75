# gemini-bridge.nvim: everything a developer runs. `make` alone lists the targets.

.DEFAULT_GOAL := help
SHELL := /bin/sh
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

LUA := $(wildcard build.lua plugin lua scripts/*.lua)
# Node 20 reads no TypeScript by itself: the loader is the one that tap runs the tests with.
RUN_TS = node --import ./scripts/typescript.mjs
# The same as an ordinary user, for what starts a real Neovim with a real CLI.
RUN_AS_USER = node scripts/as-user.mjs

# What the tests run, beside and not among the plugin's own packages.
APART = $(patsubst %,%/node_modules/.package-lock.json,.compat .qwen .nodes)

.PHONY: help deps build lint format typecheck test tests quick compat demo try screenshot bench package version publish audit notices fuzz soak doc doc-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-10s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: node_modules/.package-lock.json ## install the npm packages

node_modules/.package-lock.json: package-lock.json
	npm ci --loglevel=error
	@touch $@

build: deps ## bundle the plugin's Node part into dist/
	node scripts/build.mjs

lint: deps ## check format and style
	@scripts/need.sh luacheck lua-check
	biome check --error-on-warnings
	stylua --check $(LUA)
	luacheck --quiet $(LUA)
	depcruise src
	node scripts/check-modules.mjs
	node scripts/version.mjs --check
	node scripts/check-workflows.mjs

format: deps ## format all sources
	biome check --write
	stylua $(LUA)

typecheck: deps ## check the types
	tsc --noEmit

# Releases of the CLI's client code, beside and not among the plugin's own packages.
.compat/node_modules/.package-lock.json: test/compat/package-lock.json
	mkdir -p .compat
	cp test/compat/package.json test/compat/package-lock.json .compat
	cd .compat && npm ci --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Another CLI of the protocol, run beside Gemini CLI. Not by `npm ci`: optional packages of its own, which are not
# wanted, are missing from registries and so from the lock file.
.qwen/node_modules/.package-lock.json: test/qwen/package-lock.json
	mkdir -p .qwen
	cp test/qwen/package.json test/qwen/package-lock.json .qwen
	cd .qwen && npm install --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Releases of Node, on which the host is tested.
.nodes/node_modules/.package-lock.json: test/nodes/package-lock.json
	mkdir -p .nodes
	cp test/nodes/package.json test/nodes/package-lock.json .nodes
	cd .nodes && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

test: lint typecheck doc-check tests ## check, build and test, on each Neovim and Node

tests: build $(APART) ## build and test
	@node scripts/test.mjs

quick: build ## the tests that the changed files touch, on one Neovim
	@node scripts/quick.mjs

compat: build $(patsubst %,%/node_modules/.package-lock.json,.compat .qwen) ## test the bridge with CLIs, old, new and others
	@node scripts/test.mjs test/compat/compat.test.ts test/compat/clis.test.ts

demo: build ## show the main job once, on a real Neovim with a real MCP client
	$(RUN_AS_USER) scripts/demo.ts

try: build ## open Neovim with the plugin started on a sample project
	$(RUN_AS_USER) scripts/try.ts

screenshot: build ## make the README's pictures anew, from real runs
	$(RUN_AS_USER) --keep doc scripts/screenshot.ts

bench: build ## measure
	$(RUN_TS) bench/index.ts

package: build ## make a release: package/gemini-bridge.nvim and the archive of it
	node scripts/package.mjs

version: deps ## make VERSION=1.2.3 the next release's
	node scripts/version.mjs "$(VERSION)"

publish: ## publish package/ as VERSION: branch, tag and the branch that it was made of
	node scripts/publish.mjs "$(VERSION)"

audit: deps ## ask the registry about holes in what users run
	node scripts/audit.mjs

notices: build ## write the licences of what the bundle holds to THIRD_PARTY_NOTICES
	cp dist/THIRD_PARTY_NOTICES THIRD_PARTY_NOTICES

fuzz: build ## at least 10,000 cases of everything that is fuzzed; FUZZ=160 for ten times as many
	TAP_TIMEOUT=3600 FUZZ=$${FUZZ:-16} node scripts/test.mjs $$(grep -l support/fuzz.ts test/*/*.test.ts)

soak: build ## two clients, a moving cursor and a diff every second for MINUTES=3; fails on growth
	$(RUN_TS) test/soak/soak.ts

doc: deps ## write what the documentation and Lua take from the sources
	$(RUN_TS) scripts/contract.ts
	"$$(scripts/nvim.sh | head -n 1)" -l scripts/doc.lua
	node scripts/messages.mjs

doc-check: deps ## check that the documentation and Lua agree with the sources
	$(RUN_TS) scripts/contract.ts --check
	"$$(scripts/nvim.sh | head -n 1)" -l scripts/doc.lua --check
	node scripts/messages.mjs --check
	@awk 'length > 78 && !/https?:/ { print FILENAME ":" FNR ": over 78 columns"; bad = 1 } END { exit bad }' doc/*.txt

clean: ## remove all that is generated, the downloaded Neovims and Nodes too
	rm -rf dist package .tap .nvim .compat .qwen .nodes node_modules
