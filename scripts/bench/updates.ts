/**
 * Measures the update server: what its answers and files cost in processor time, beside nginx in the same run; a herd of
 * installations; 100,000 of them in the store; what an update between two versions moves. Prints a table and adds it to
 * docs/bench/updates.md; ends with 1 if a limit is missed.
 *
 *     node scripts/bench/updates.ts [--rounds N] [--deltas] [--note TEXT] [--print]
 *
 * --deltas: what an update moves alone, which needs no quiet machine; --note: the conditions of the run; --print: leave
 * docs/bench unchanged
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { writeContainer } from '#kit/release/container.ts'
import { hasNginx, NGINX, type Nginx, startNginx } from '#kit/test/net/nginx.ts'
import { forgetMost, mostResidentMb, residentMb } from '#kit/test/process-memory.ts'
import type { InstallationRecord } from '../../daemons/updates/core/ports.ts'
import { noPostgres, startPostgres } from '../../daemons/updates/test/peer/postgres.ts'
import { archiveOf, openStage, type Stage, UPDATE_KEY } from '../../daemons/updates/test/stage.ts'
import { chapterOf, optionOf, recordChapter, tableRow } from './chapter.ts'
import { type Ends, endAll } from './controller-site.ts'
import { cpuSecondsOf, median } from './figures.ts'
import { compileHarness } from './line-harness.ts'
import { deltaFigures } from './update-delta.ts'

// The load: http-bench.cc.

/** What came of a command. Times in milliseconds, from when a request was due to its whole answer. */
interface Loaded {
  seconds: number
  answered: number
  /** Answers other than 200. */
  refused: number
  /** Connections that ended without an answer. */
  failed: number
  bytes: number
  p50: number
  p99: number
  max: number
}

interface HttpLoad {
  /** Sends one command (see the program); throws if the program refuses it. */
  run(command: string): Promise<Loaded>
  stop(): void
}

function startLoad(root: string): HttpLoad {
  const child = spawn(compileHarness(root, 'http-bench'), { stdio: ['pipe', 'pipe', 'inherit'] })
  const output = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    async run(command) {
      child.stdin.write(`${command}\n`)
      const { value = '{"error":"it has ended"}' } = await output.next()
      const loaded = JSON.parse(value)
      if (loaded.error) throw new Error(`http-bench ${command}: ${loaded.error}`)
      return loaded
    },
    stop: () => child.stdin.end(),
  }
}

/** A row of the table; `isMet` is absent if there is no limit. */
interface Figure {
  what: string
  measured: string
  wanted?: string
  isMet?: boolean
}

const INSTALLATIONS = 100_000
const VERSION = '1.4.0'
const PASSWORD = 'only for this measurement'
/** An archive of almost `uploads.max_bytes`, whatever is added to it by its encryption. */
const PLAIN_BYTES = 500_000_000
const CONNECTIONS = 64
const RATE_SECONDS = 3
/** Node compiles for the first seconds what it runs for weeks. */
const WARM_SECONDS = 6
const HERD = { many: 10_000, seconds: 10 }
const UPLOADS_AT_ONCE = 4
const ASKED = 20

const BARS = {
  checks: 40_000,
  sharedChecks: 20_000,
  download: 0.35,
  offloaded: 0.07,
  upload: 3,
  uploadMb: 200,
  herdMs: 150,
}
/** What nginx did on the machine of these limits. On another, or a busy one, the ratio to it in the same run counts. */
const NGINX_THERE = { checks: 156_000, download: 0.04 }

interface Bench {
  ends: Ends
  load: HttpLoad
  folder: string
  rounds: number
}

const idOf = (at: number) => at.toString(16).padStart(32, '0')
const portOf = (url: string) => Number(new URL(url).port)

function requestOf(path: string, headers: Record<string, string | number>, body = ''): string {
  const lines = Object.entries({ host: '127.0.0.1:3131', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

function questionOf(path: string, question: object): string {
  const body = JSON.stringify(question)
  return requestOf(path, { 'content-type': 'application/json', 'content-length': body.length }, body)
}

/** Requests of one length in a file. @returns the words of a command that name them */
function requestFile(folder: string, name: string, requests: readonly string[]): string {
  const file = join(folder, name)
  writeFileSync(file, requests.join(''))
  return `${requests[0]?.length} ${file}`
}

/** Processor seconds of a process while something is done. */
async function costOf<Result>(pids: readonly number[], work: () => Promise<Result>) {
  const used = () => pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0)
  const before = used()
  const result = await work()
  return { cpuS: used() - before, result }
}

/** nginx, unless it is missing, which is said. */
async function nginxWith(ends: Ends, locations: string): Promise<Nginx | undefined> {
  if (!hasNginx) {
    console.log(`${NGINX} is not installed: it is left out`)
    return undefined
  }
  const nginx = await startNginx(locations)
  ends.push(() => nginx.stop())
  return nginx
}

// Many installations.

/** A state folder as a server with so many installations leaves it. */
async function prepareMany(bench: Bench): Promise<string> {
  const state = join(bench.folder, 'many')
  const first = await openServer(bench, state)
  await first.stop()
  const database = new DatabaseSync(join(state, 'updates.db'))
  database.exec('BEGIN')
  const insert = database.prepare('INSERT INTO installation (key, record) VALUES (?, ?)')
  for (let at = 0; at < INSTALLATIONS; at++) insert.run(idOf(at), JSON.stringify(recordOf(at)))
  database.exec('COMMIT')
  database.close()
  return state
}

function recordOf(at: number): InstallationRecord {
  const seenAt = 1_760_000_000_000 + at
  const delivery = { version: VERSION, fetchedAt: seenAt, reportedAt: seenAt, step: null, reason: null }
  return {
    ...{ id: idOf(at), state: 'enabled', name: `Building ${at}`, channel: null, registeredAt: seenAt, seenAt },
    ...{ registeredFrom: '10.1.2.3', address: '10.1.2.3', version: VERSION, build: 'abcdef12', arch: 'x64' },
    ...{ askedChannel: 'stable', deliveries: [{ ...delivery, outcome: 'applied' }] },
  }
}

function openServer({ ends, folder }: Bench, stateFolder: string, more: readonly string[] = []): Promise<Stage> {
  const file = join(folder, 'password')
  writeFileSync(file, PASSWORD)
  const bounds = [`registration.max=${2 * INSTALLATIONS}`, 'connections.trusted=["127.0.0.0/8"]']
  const sets = [`admin.password_file=${file}`, ...bounds, ...more]
  return openStage({ teardown: (run) => void ends.push(run) }, { stateFolder, password: PASSWORD, sets })
}

async function manyFigures(bench: Bench): Promise<Figure[]> {
  const state = await prepareMany(bench)
  const beganMs = performance.now()
  const stage = await openServer(bench, state)
  const startMs = performance.now() - beganMs
  const startMb = residentMb(stage.pid)
  await stage.publish(VERSION, archiveOf(100_000))
  const figures = [
    {
      what: `start with ${INSTALLATIONS} installations in the store`,
      measured: `${(startMs / 1000).toFixed(2)} s, ${startMb.toFixed(0)} MB`,
    },
    await rateFigure(bench, stage, {
      what: `by ${INSTALLATIONS} installations`,
      least: BARS.checks,
      pids: [stage.pid],
    }),
    await herdFigure(bench, stage),
    ...(await listFigures(stage)),
    { what: 'memory after all of this', measured: `${residentMb(stage.pid).toFixed(0)} MB` },
  ]
  await stage.stop()
  return figures
}

const questionsOf = (folder: string) =>
  requestFile(
    folder,
    'checks',
    Array.from({ length: INSTALLATIONS }, (_, at) =>
      questionOf('/check_update', {
        ...{ installation_id: idOf(at), version: VERSION, build: 'abcdef12', arch: 'x64', channel: 'stable' },
      }),
    ),
  )

interface Rate {
  what: string
  /** A CPU second. */
  least: number
  /** Of all processes whose time counts. */
  pids: readonly number[]
}

/** The records in PostgreSQL: its time counts too. Undefined where it is missing, which is said. */
async function sharedFigure(bench: Bench): Promise<Figure | undefined> {
  if (noPostgres) {
    console.log(`${noPostgres}: it is left out`)
    return undefined
  }
  const postgres = await startPostgres({ teardown: (run) => void bench.ends.push(run) })
  const url = postgres.newUrl()
  const state = join(bench.folder, 'shared')
  const sets = [`store.url=${url}`, `store.password_file=${postgres.passwordFile}`]
  await (await openServer(bench, state, sets)).stop()
  const rows = join(bench.folder, 'rows')
  const row = (_: unknown, at: number) => `installation\t${idOf(at)}\t${JSON.stringify(recordOf(at))}\t1\n`
  writeFileSync(rows, Array.from({ length: INSTALLATIONS }, row).join(''), { mode: 0o644 })
  postgres.sql(url, `\\copy plantroom_updates_record (kind, key, record, revision) FROM '${rows}'`)
  const stage = await openServer(bench, state, sets)
  await stage.publish(VERSION, archiveOf(100_000))
  const [first = ''] = readFileSync(join(postgres.home, 'data/postmaster.pid'), 'utf8').split('\n')
  const children = readFileSync(`/proc/${first}/task/${first}/children`, 'utf8').trim().split(' ')
  const pids = [stage.pid, ...[first, ...children].map(Number)]
  const what = 'with the records in PostgreSQL, whose time counts too,'
  const figure = await rateFigure(bench, stage, { what, least: BARS.sharedChecks, pids })
  await stage.stop()
  return figure
}

async function rateFigure({ ends, folder, load, rounds }: Bench, stage: Stage, rate: Rate): Promise<Figure> {
  const nothingNew = JSON.stringify({ update: false, version: VERSION })
  const nginx = await nginxWith(ends, `location / { default_type application/json; return 200 '${nothingNew}'; }`)
  const peers = nginx ? [{ pids: [nginx.pid], port: nginx.port }] : []
  const servers = [{ pids: rate.pids, port: portOf(stage.url) }, ...peers]
  const asked = questionsOf(folder)
  const rates: number[][] = servers.map(() => [])
  for (let round = 0; round <= rounds; round++)
    for (const [at, { pids, port }] of servers.entries()) {
      const seconds = round === 0 ? WARM_SECONDS : RATE_SECONDS
      const command = `rate ${port} ${CONNECTIONS} ${seconds} ${asked}`
      const { cpuS, result } = await costOf(pids, () => load.run(command))
      if (result.refused + result.failed > 0) throw new Error(`${command}: ${JSON.stringify(result)}`)
      if (round > 0) rates[at]?.push(result.answered / cpuS)
    }
  const [own = Number.NaN, peer] = rates.map(median)
  const ratio = peer === undefined ? '' : `; nginx \`return\` ${peer.toFixed(0)}, ${(own / peer).toFixed(2)}`
  return {
    what: `check_update, nothing new, ${rate.what} on ${CONNECTIONS} connections`,
    measured: `${own.toFixed(0)} per CPU second${ratio}`,
    wanted: `>= ${rate.least}, or ${(rate.least / NGINX_THERE.checks).toFixed(3)} of nginx`,
    isMet: own >= rate.least || own / (peer ?? Number.NaN) >= rate.least / NGINX_THERE.checks,
  }
}

async function herdFigure({ folder, load }: Bench, stage: Stage): Promise<Figure> {
  const command = `herd ${portOf(stage.url)} ${HERD.many} ${HERD.seconds} ${questionsOf(folder)}`
  const { answered, failed, max, p50, p99, refused } = await load.run(command)
  const lost = refused + failed
  return {
    what: `${HERD.many} installations, each with a connection of its own, check within ${HERD.seconds} s`,
    measured: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, longest ${max.toFixed(0)} ms; ${answered} answered, ${lost} not`,
    wanted: `p99 < ${BARS.herdMs} ms, none refused`,
    isMet: p99 < BARS.herdMs && lost === 0,
  }
}

async function listFigures(stage: Stage): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [what, query] of Object.entries({
    'the first 500': '',
    'those of whom a part of the name is asked for': '?q=Building%20777',
    'those that met a release, the last page': `?release=${VERSION}&skip=99500`,
  })) {
    const times: number[] = []
    let total = 0
    for (let asked = 0; asked < ASKED; asked++) {
      const beganMs = performance.now()
      const { body } = await stage.admin('GET', `/admin/api/installations${query}`)
      times.push(performance.now() - beganMs)
      total = body.total
    }
    figures.push({
      what: `the panel's list of ${INSTALLATIONS} installations: ${what}`,
      measured: `${median(times).toFixed(1)} ms, ${total} found`,
    })
  }
  return figures
}

// Files.

/** An archive and its key. */
async function makeArchive(folder: string): Promise<{ file: string; key: string; sizeBytes: number }> {
  const [plain, file, key] = [join(folder, 'plain'), join(folder, 'archive'), randomBytes(32)]
  const [from, to] = [await open(plain, 'w+'), await open(file, 'w')]
  for (let at = 0; at < PLAIN_BYTES; at += 10_000_000) await from.write(randomBytes(10_000_000))
  await writeContainer(from, to, key)
  await Promise.all([from.close(), to.close()])
  rmSync(plain)
  return { file, key: key.toString('hex'), sizeBytes: statSync(file).size }
}

async function fileFigures(bench: Bench): Promise<Figure[]> {
  const archive = await makeArchive(bench.folder)
  const stage = await openServer(bench, join(bench.folder, 'files'), ['downloads.offload=x-accel-redirect'])
  const id = await stage.enabled('1.0.0')
  const uploads = await uploadFigures(bench, stage, archive)
  const downloads = await downloadFigures(bench, stage, { ...archive, id })
  await stage.stop()
  return [...uploads, ...downloads]
}

function uploadOf(version: string, key: string, sizeBytes: number): string {
  return requestOf('/push_update', {
    ...{ 'x-svc-update-key': UPDATE_KEY, 'x-svc-version': version, 'x-svc-encryption-key': key },
    ...{ 'content-type': 'application/octet-stream', 'content-length': sizeBytes },
  })
}

type Archive = Awaited<ReturnType<typeof makeArchive>>

async function uploadFigures({ folder, load, rounds }: Bench, stage: Stage, archive: Archive): Promise<Figure[]> {
  const { file, key, sizeBytes } = archive
  let made = 0
  const upload = async (many: number) => {
    const versions = Array.from({ length: many }, () => `2.0.${100 + made++}`)
    const command = `send ${portOf(stage.url)} ${many} ${requestFile(
      folder,
      'uploads',
      versions.map((version) => uploadOf(version, key, sizeBytes)),
    )} ${file}`
    const { cpuS, result } = await costOf([stage.pid], () => load.run(command))
    if (result.answered !== many) throw new Error(`${command}: ${JSON.stringify(result)}`)
    for (const version of versions) await stage.admin('DELETE', `/admin/api/updates/${version}`)
    return cpuS / ((many * sizeBytes) / 1e9)
  }
  const alone: number[] = []
  for (let round = 0; round <= rounds; round++) alone.push(await upload(1))
  forgetMost(stage.pid)
  const together = await upload(UPLOADS_AT_ONCE)
  const mostMb = mostResidentMb(stage.pid)
  const own = median(alone.slice(1))
  return [
    {
      what: 'upload of 500 MB, hashed twice and decrypted',
      measured: `${own.toFixed(2)} CPU s per GB`,
      wanted: `<= ${BARS.upload}`,
      isMet: own <= BARS.upload,
    },
    {
      what: `${UPLOADS_AT_ONCE} such uploads at once`,
      measured: `${together.toFixed(2)} CPU s per GB, ${mostMb.toFixed(0)} MB at most`,
      wanted: `< ${BARS.uploadMb} MB`,
      isMet: mostMb < BARS.uploadMb,
    },
  ]
}

async function downloadFigures(bench: Bench, stage: Stage, archive: Archive & { id: string }): Promise<Figure[]> {
  const { ends, folder, load } = bench
  const { file, id, key, sizeBytes } = archive
  const published = await load.run(
    `send ${portOf(stage.url)} 1 ${requestFile(folder, 'publish', [uploadOf(VERSION, key, sizeBytes)])} ${file}`,
  )
  if (published.answered !== 1) throw new Error('the archive could not be published')
  const question = requestFile(folder, 'pull', [questionOf('/pull_update', { installation_id: id, version: VERSION })])
  const plain = requestFile(folder, 'get', [`GET /${basename(file)} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`])
  const nginx = await nginxWith(ends, `location / { root ${folder}; }`)
  const front = await nginxWith(ends, offloading(stage.url, join(bench.folder, 'files-files/releases')))
  const [own = Number.NaN, alone, offloaded] = await downloadCosts(bench, sizeBytes, [
    { pids: [stage.pid], port: portOf(stage.url), question },
    ...(nginx && front
      ? [
          { pids: [nginx.pid], port: nginx.port, question: plain },
          { pids: [stage.pid, front.pid], port: front.port, question },
        ]
      : []),
  ])
  const ratio = (cost: number) =>
    alone === undefined ? '' : `; nginx alone ${alone.toFixed(2)}, ${(cost / alone).toFixed(2)}`
  return [
    {
      what: 'download of 500 MB',
      measured: `${own.toFixed(2)} CPU s per GB${ratio(own)}`,
      wanted: `<= ${BARS.download}`,
      isMet: own <= BARS.download,
    },
    ...(offloaded === undefined
      ? []
      : [
          {
            what: 'the same, sent by nginx (`downloads.offload`), both processes',
            measured: `${offloaded.toFixed(2)} CPU s per GB${ratio(offloaded)}`,
            wanted: `<= ${BARS.offloaded}, or ${(BARS.offloaded / NGINX_THERE.download).toFixed(2)} of nginx alone`,
            isMet:
              offloaded <= BARS.offloaded || offloaded / (alone ?? Number.NaN) <= BARS.offloaded / NGINX_THERE.download,
          },
        ]),
  ]
}

/** As in docs/updates.md. */
function offloading(url: string, folder: string): string {
  const own = `location /plantroom-releases/ { internal; alias ${folder}/; etag off; add_header ETag $upstream_http_etag; }`
  return `location / { proxy_pass ${url}; proxy_set_header X-Sendfile-Type X-Accel-Redirect; } ${own}`
}

interface Sender {
  pids: number[]
  port: number
  question: string
}

/** CPU seconds per GB of each, medians of rounds in which they take turns. */
async function downloadCosts(
  { load, rounds }: Bench,
  sizeBytes: number,
  senders: readonly Sender[],
): Promise<number[]> {
  const costs: number[][] = senders.map(() => [])
  for (let round = 0; round <= rounds; round++)
    for (const [at, { pids, port, question }] of senders.entries()) {
      const { cpuS, result } = await costOf(pids, () => load.run(`fetch ${port} 1 ${question}`))
      if (result.bytes < sizeBytes) throw new Error(`a download brought ${result.bytes} bytes`)
      if (round > 0) costs[at]?.push(cpuS / (sizeBytes / 1e9))
    }
  return costs.map(median)
}

const HEAD = `# The update server

Made by \`make bench-updates\`: the update server as it is installed, on loopback, with SQLite and its files on the disk of
the machine; Debian's nginx (one process) takes turns with it in the same run. CPU seconds are those of the measured process with all its
threads, as the kernel counts them; the load comes from a program that takes a share of the same cores. Figures are medians
over the rounds. The limits of checks and of what nginx sends are those of a machine on which nginx answers 156,000 a CPU second
and takes 0.04 CPU seconds a GB; on another one the ratio to nginx in the same run counts too.
Of a delta both versions are commits of this repository, each built, published and fetched; the addons are the same in both.
`

async function serverFigures(bench: Bench): Promise<Figure[]> {
  const shared = await sharedFigure(bench)
  return [...(await manyFigures(bench)), ...(shared ? [shared] : []), ...(await fileFigures(bench))]
}

async function measureAll(root: string, rounds: number): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-updates-'))
  const load = startLoad(root)
  const ends: Ends = [() => rmSync(folder, { recursive: true, force: true }), () => load.stop()]
  const bench = { ends, load, folder, rounds }
  try {
    const figures = process.argv.includes('--deltas') ? [] : await serverFigures(bench)
    const server = await openServer(bench, join(folder, 'deltas'))
    return [...figures, ...(await deltaFigures(root, server, join(folder, 'commits')))]
  } finally {
    await endAll(ends)
  }
}

const root = join(import.meta.dirname, '../..')
const rounds = Number(optionOf('--rounds') ?? 5)
const [load = Number.NaN] = loadavg()
const figures = await measureAll(root, rounds)
const rows = figures.map(({ what, measured, wanted = '-', isMet }) =>
  tableRow([what, measured, wanted, isMet === undefined ? '-' : isMet ? 'yes' : 'no']),
)
const text = chapterOf({ heads: ['what', 'measured', 'wanted', 'met'], rows, rounds, load, note: optionOf('--note') })
console.log(text)
if (!process.argv.includes('--print')) recordChapter(join(root, 'docs/bench/updates.md'), HEAD, text)
process.exitCode = figures.every(({ isMet }) => isMet !== false) ? 0 : 1
