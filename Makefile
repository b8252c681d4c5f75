# Targets for developers of gemini-bridge.nvim. `make` alone lists them.

.DEFAULT_GOAL := help
SHELL := /bin/sh
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

LUA := $(wildcard build.lua plugin lua scripts/*.lua test/support/*.lua)
# Runs TypeScript, which Node 20 cannot load by itself.
RUN_TS = node --import ./scripts/typescript.mjs
# Runs TypeScript as an ordinary user, for programs that start a real Neovim with a real CLI.
RUN_AS_USER = node scripts/as-user.mjs

# Packages that only the tests use. Each folder has its own packages.
APART = $(patsubst %,%/node_modules/.package-lock.json,.compat .qwen .nodes)

.PHONY: help deps packages build lint format typecheck test tests quick compat demo try screenshot bench package version publish audit notices fuzz soak doc doc-check clean

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
	node scripts/check-functions.mjs
	node scripts/version.mjs --check
	node scripts/check-workflows.mjs

format: deps ## format all sources
	biome check --write
	stylua $(LUA)

typecheck: deps ## check the types
	tsc --noEmit

# Gemini CLI's client code in several releases, for the compatibility tests. In a separate folder.
.compat/node_modules/.package-lock.json: test/compat/package-lock.json
	mkdir -p .compat
	cp test/compat/package.json test/compat/package-lock.json .compat
	cd .compat && npm ci --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Qwen Code, in a separate folder. `npm ci` would fail: some optional packages of Qwen Code are missing from the lock
# file, because registries do not have them. The tests do not need these packages.
.qwen/node_modules/.package-lock.json: test/qwen/package-lock.json
	mkdir -p .qwen
	cp test/qwen/package.json test/qwen/package-lock.json .qwen
	cd .qwen && npm install --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Releases of Node for testing the host, in a separate folder.
.nodes/node_modules/.package-lock.json: test/nodes/package-lock.json
	mkdir -p .nodes
	cp test/nodes/package.json test/nodes/package-lock.json .nodes
	cd .nodes && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

packages: deps $(APART) ## install the npm packages of the plugin and of the tests; with -j at the same time

test: lint typecheck doc-check tests ## check, build and test, on each Neovim and Node

tests: build $(APART) ## build and test
	@node scripts/test.mjs

quick: build ## run the tests for the changed files on one Neovim
	@node scripts/quick.mjs

compat: build $(patsubst %,%/node_modules/.package-lock.json,.compat .qwen) ## test the bridge with old and new releases of Gemini CLI, and with other CLIs
	@node scripts/test.mjs test/compat/compat.test.ts test/compat/clis.test.ts

demo: build ## run the main workflow once, with a real Neovim and a real MCP client
	$(RUN_AS_USER) scripts/demo.ts

try: build ## open Neovim with the running plugin and a sample project
	$(RUN_AS_USER) scripts/try.ts

screenshot: build ## make the README's recordings again, from real runs
	$(RUN_AS_USER) --keep doc scripts/screenshot.ts

bench: build ## measure performance
	$(RUN_TS) bench/index.ts

package: build ## build a release: package/gemini-bridge.nvim and its archive
	node scripts/package.mjs

version: deps ## set the version of the next release: VERSION=1.2.3
	node scripts/version.mjs "$(VERSION)"

publish: ## publish package/ as VERSION: pushes the release branch, the tag and the source branch
	node scripts/publish.mjs "$(VERSION)"

audit: deps ## ask the registry about vulnerabilities in the packages that users run
	node scripts/audit.mjs

notices: build ## write the licences of the bundled packages to THIRD_PARTY_NOTICES
	cp dist/THIRD_PARTY_NOTICES THIRD_PARTY_NOTICES

fuzz: build ## run all fuzz tests with at least 10,000 cases; FUZZ=160 runs ten times as many, FUZZ_SEED=1 repeats a run
	TAP_TIMEOUT=3600 FUZZ=$${FUZZ:-16} node scripts/test.mjs $$(grep -l support/fuzz.ts test/*/*.test.ts)

soak: build ## run two clients, a moving cursor and a diff every second for MINUTES=3; fails if memory grows
	$(RUN_TS) test/soak/soak.ts

doc: deps ## generate the parts of documentation and Lua that come from the sources
	$(RUN_TS) scripts/contract.ts
	$(RUN_TS) scripts/tables.ts
	"$$(scripts/nvim.sh | head -n 1)" -l scripts/doc.lua
	node scripts/messages.mjs

doc-check: deps ## check that the generated parts are up to date
	$(RUN_TS) scripts/contract.ts --check
	$(RUN_TS) scripts/tables.ts --check
	"$$(scripts/nvim.sh | head -n 1)" -l scripts/doc.lua --check
	node scripts/messages.mjs --check
	@awk 'length > 78 && !/https?:/ { print FILENAME ":" FNR ": over 78 columns"; bad = 1 } END { exit bad }' doc/*.txt

clean: ## remove all generated files and downloaded Neovims and Nodes
	rm -rf dist package .tap .nvim .compat .qwen .nodes node_modules
