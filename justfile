# What can be done here. `just` alone lists it.

[private]
default:
    @just --list --unsorted

# Run ibid from the sources: `just ibid ask "hello"`
ibid *arguments:
    cargo run --quiet --package ibid -- {{arguments}}

# Everything that CI checks, in the same order
verify:
    bash .ci/run

# Build the page, which then becomes part of the binary: types from the API, checks, one folder of files
page:
    cd web && npm ci --no-audit --no-fund --loglevel=error && npm run --silent check && npm run --silent build

# Fast tests, under a minute once built: units, the graph and the engine, the server in process. They need no model files
test-fast:
    cargo test --workspace --all-features --lib --bins --quiet
    cargo test --workspace --all-features --test it --quiet -- conforms:: journals:: building:: drawing:: running:: file:: pending_events:: in_process::

# All tests of the server and the library
test *arguments:
    cargo test --workspace {{arguments}}

# The page in a browser, against a real server: `just test-web -g "killed"` for one of them
test-web *arguments: fetch-test-models page
    cargo test --workspace --all-features --no-run --quiet
    cd web && npx playwright test {{arguments}}

# The same against two servers on one database, behind a proxy that sends each request to the next of them
test-replicas *arguments: fetch-test-models page
    cargo test --workspace --all-features --no-run --quiet
    cd web && bash tests/with-postgres npx playwright test {{arguments}}

# Bring the real models that the tests use, once: 3.3 GB
fetch-test-models:
    bash crates/testkit/models/fetch

# Tests on the large test sets, which lie in ../shared/data beside the project
test-sets: fetch-test-models
    cargo test --workspace --all-features --test it -- --ignored on_test_sets

# The kill test with 300 kills instead of a sample
test-crash:
    IBID_KILLS=300 cargo test --package ibid-engine --test it -- --nocapture crash::nothing

# Losses of power and failing disks: 300 under the engine, 10,000 schedules from seeds, and every moment of a load
test-storage:
    IBID_KILLS=300 IBID_SEEDS=10000 cargo test --package ibid-engine --test it -- --nocapture crash::
    IBID_ALL_MOMENTS=1 cargo test --package ibid-knowledge --test it -- --nocapture power::

# Fuzz what is read of others, so many seconds for each target, or one target alone: `just fuzz 600 guard`
fuzz seconds="60" target="":
    cargo xtask fuzz {{seconds}} {{target}}

# Keep what the fuzzer found: inputs that take ways through the code that none in fuzz/corpus takes
fuzz-keep:
    cargo xtask fuzz-keep

# Format the sources, and accept changed snapshots after you have read them
fix:
    cargo fmt
    INSTA_UPDATE=always cargo test --workspace --quiet

# Lints, as CI runs them
lint:
    cargo fmt --check
    cargo clippy --workspace --all-targets --all-features -- --deny warnings

# Which crate uses which, and whether every file says what lives in it
architecture:
    cargo xtask architecture

# Measure the graph core and the local engine beside LangGraph and bare SQLite
bench-graph:
    cargo xtask bench-graph

# Measure models beside a bare HTTP client and a bare loop around ONNX Runtime
bench-models: fetch-test-models
    cargo xtask bench-models

# How well the models of the tests find, on XQuAD (a folder with xquad.en.json and xquad.es.json)
eval-embeddings xquad: fetch-test-models
    cargo run --quiet --release --package ibid-bench -- quality {{xquad}}

# Loading under 100 kills, and searching under 100 replacements, in a folder and on object storage, instead of samples
test-crash-loading: fetch-test-models
    IBID_KILLS=100 cargo test --workspace --all-features --test it -- --nocapture documents::a_load_
    IBID_REPLACEMENTS=100 cargo test --workspace --all-features --test it -- --nocapture replacing::

# 1,000 random changes to a folder, object storage and WebDAV while the server is killed 40 times, instead of a sample: some ten minutes
test-sync changes="1000" kills="40": fetch-test-models
    IBID_CHANGES={{changes}} IBID_KILLS={{kills}} cargo test --workspace --all-features --test it -- --nocapture sync::kills

# The published clients against the server with a real model instead of a scripted one: some ten minutes
test-clients: fetch-test-models
    cargo test --workspace --all-features --test it -- --ignored --nocapture serve::every_client

# Hostile clients beside one that behaves, against a release build: memory within 1 GB, the other's 99th percentile at most doubled
test-hostile: fetch-test-models
    cargo build --release --package ibid
    bash crates/cli/tests/clients/alone hostile.py "${CARGO_TARGET_DIR:-target}/release/ibid" 20 2

# Make the packages: an archive, a wheel, an npm package, deb, rpm and an image
dist *folder:
    cargo xtask dist {{folder}}

# Install the packages where nothing else is, without a network, and run the quick start with them: `just try-packages target/dist wheel`
try-packages folder *kinds:
    dist/try {{folder}} {{kinds}}

# Install packages over those of an earlier version, and open the data that an earlier version left
try-upgrade folder from *kinds:
    IBID_FROM={{from}} dist/try {{folder}} {{kinds}}

# The site, from docs/, in target/site; needs mdBook (`cargo install mdbook`)
site:
    cargo xtask site

# A server that works for an hour: memory, descriptors, logs and table versions stay bounded, and are plotted
soak minutes="60": fetch-test-models
    cargo build --release --package ibid
    bash crates/cli/tests/clients/alone soak.py "${CARGO_TARGET_DIR:-target}/release/ibid" "$(({{minutes}} * 60))" docs/measurements/soak.csv docs/measurements/soak.svg

# How well documents are found: SciFact, XQuAD, SQuAD-es, MTRAG-UN, tau-banking and the HTS questions; IBID_SETS=xquad-es,hts for some
eval-retrieval data="../shared/data" questions="1500": fetch-test-models
    cargo run --quiet --release --package ibid-bench -- retrieval {{data}} {{questions}}

# Whether true quotations are told from altered ones: 1,000 citations from the tariff schedule
eval-quotes data="../shared/data": fetch-test-models
    cargo run --quiet --package ibid-bench -- quotes {{data}}

# What is read of office files beside LibreOffice, which has to be installed, with poppler's pdftotext: minutes
eval-office +folders: fetch-test-models
    cargo build --quiet --package ibid-reading --example read
    python3 crates/reading/tests/office.py "${CARGO_TARGET_DIR:-target}/debug/examples/read" ~/.cache/ibid/test-models/pdfium/libpdfium.so {{folders}}

# Whether values are told from those of another row, column, period or unit: 2,000 statements from real tables and prose
eval-cells data="../shared/data": fetch-test-models
    cargo run --quiet --package ibid-bench -- cells {{data}}

# Whether the cache tells questions apart that are alike, and how long a hit takes among 100,000 answers: two minutes
eval-cache data="../shared/data": fetch-test-models
    cargo run --quiet --package ibid-bench -- cache {{data}}

# 200 questions over tables through `query_tables`, beside the tariff schedule's own data: two minutes
eval-tables data="../shared/data": fetch-test-models
    cargo run --quiet --package ibid-bench -- tables {{data}}

# A catalogue of used cars to try the assistant car-sales with: `just cars > cars.csv`
cars rows="20000":
    @cargo run --quiet --package ibid-bench -- cars {{rows}}

# A query over a catalogue beside bare DataFusion over the same rows in memory: ten minutes, most of them loading two million rows
bench-catalogue rows="2000000": fetch-test-models
    cargo run --quiet --package ibid-bench -- catalogue {{rows}}

# What 300 requests, 500 misspellings, 100 names that are not there and 200 attempts to inject become, and what a real small model
# makes of the requests: an hour, IBID_EVERY=6 for every sixth request to the model
eval-catalogue: fetch-test-models
    cargo test --workspace --all-features --test it -- --nocapture catalogue::
    cargo test --workspace --all-features --test it -- --ignored --nocapture concierge::how_well_a_small

# How well common questions find their category, at each threshold: a minute
eval-faq: fetch-test-models
    cargo test --workspace --all-features --test it -- --ignored --nocapture concierge::how_well_questions

# How questions find their way, and follow-ups become questions, with a real small model: some fifteen minutes
eval-routing: fetch-test-models
    cargo test --workspace --all-features --test it -- --ignored --nocapture --test-threads 1 routing::

# How many turns go the right way under each `knowledge`, with a real small model: an hour; IBID_TURNS=10 for fewer, IBID_KINDS=general
eval-knowledge: fetch-test-models
    cargo test --workspace --all-features --test it -- --ignored --nocapture knowledge::

# Whether a model is shown what answers, and of tables nothing else; the documents are those of eval-answers: two minutes
eval-shown: fetch-test-models
    cargo test --workspace --all-features --test it -- --ignored --nocapture --test-threads 1 answers::how_often

# How well each tier of the grounding check tells what a text supports, on SummEdits: five minutes for the tiers without a chat
# model (IBID_EVERY=1 for all summaries), an hour with it (IBID_MODEL_EVERY=0 leaves it out)
eval-grounding: fetch-test-models
    cargo test --workspace --all-features --test it -- --ignored --nocapture grounding::

# The graph corrective against the usual one with a real small model, on questions that documents answer and on some that they do
# not: right, wrong, refused, calls and seconds; an hour, IBID_EVERY=5 for every fifth
bench-research: fetch-test-models
    for assistant in policy-desk research; do IBID_SETS=prose-en,prose-unanswerable IBID_ASSISTANT=${assistant#policy-desk} cargo test --workspace --all-features --test it -- --ignored --nocapture answers::how_many; done
    cargo test --workspace --all-features --test it -- --ignored --nocapture research::

# How many questions a real small model answers right, and what is flagged: hours; IBID_EVERY=8 for every eighth, IBID_SETS=trade,
# IBID_RESULTS=answers.jsonl to keep what is answered and go on with it later
eval-answers: fetch-test-models
    cargo test --workspace --all-features --test it -- --ignored --nocapture answers::

# A real small model on a busy machine: four questions, some minutes
test-laptop: fetch-test-models
    cargo test --workspace --all-features --test it -- --ignored --nocapture laptop::

# Every example question of the reference assistants with a real small model: some half an hour
eval-examples: fetch-test-models
    cargo test --workspace --all-features --test it -- --ignored --nocapture examples::

# Measure reading, loading and searching beside the bare embedder, bare Lance and Chroma
bench-knowledge data="../shared/data" most="1000000": fetch-test-models
    cargo xtask bench-knowledge {{data}} {{most}}

# Measure the server under load beside the model itself and LangGraph's server: some five minutes once it is built
bench-server documents="../shared/data/trade_compliance/hts/pdf/chapter/Chapter_94.pdf": fetch-test-models
    cargo xtask bench-server {{documents}}

# How the page bears many documents beside few: loading them takes most of the time
bench-page many="10000": fetch-test-models page
    cargo build --release --package ibid
    cd web && IBID="${CARGO_TARGET_DIR:-$PWD/../target}/release/ibid" IBID_MANY={{many}} npx playwright test many

# Whether `ibid eval` tells faults that were made on purpose from chance, on 200 questions: an hour; IBID_REPETITIONS=3 for fewer
eval-self: fetch-test-models
    cargo test --workspace --all-features --test it -- --ignored --nocapture eval_self::

# The settings page, made from the code
docs-configuration:
    cargo run --quiet --package ibid -- config reference > docs/configuration.md

# Measure packed traces of many turns: how large one is, and how long it takes to open one
bench-traces turns="100000":
    cargo run --quiet --release --package ibid-bench -- traces {{turns}} docs/measurements

# Measure what traces and metrics cost: 500 turns a second with and without them, a minute once it is built
bench-telemetry:
    cargo run --quiet --release --package ibid-bench -- telemetry docs/measurements

# The engine on Postgres beside Postgres alone, through other processes, and with many conversations; IBID_MESSAGES=100000000 for more
bench-scale:
    cargo test --release --package ibid-engine --all-features --test it -- --ignored --nocapture --test-threads 1 scale::

# Three processes are killed, sleep and lose their database while people talk to them: ten minutes
test-chaos seconds="600":
    IBID_CHAOS_SECONDS={{seconds}} cargo test --release --package ibid-server --test it -- --nocapture chaos::nothing_is_lost
