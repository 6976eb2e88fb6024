/** Tests of io/ptp.ts, with programs of the test. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Value } from 'typebox/value'
import { systemClock } from '#kit/clock.ts'
import { silentLog } from '#kit/log.ts'
import { rowOf } from '#kit/test/heap.ts'
import { residentMb } from '#kit/test/process-memory.ts'
import { until } from '#kit/test/until.ts'
import { memoryPlan } from '../../core/memory.ts'
import { ptpKeys } from '../../core/ptp/keys.ts'
import { createPtpProgram, findProgram } from '../../io/ptp.ts'

/** Listens at the socket of its settings by making that file. */
const PTP4L = `#!/bin/sh
[ "$1" = -v ] && { echo 3.1.1; exit; }
echo $$ >> FOLDER/pids
echo "ptp4l[12.345]: port 1: INITIALIZING to LISTENING" >&2
: > "$(sed -n 's/^uds_address //p' "$2")"
exec sleep 60
`

const PMC = `#!/bin/sh
echo $$ >> FOLDER/pids
while read -r verb name; do
  echo "sending: GET $name"
  [ "$name" = PORT_DATA_SET ] && printf '\\t7eec02.fffe.3233f2-1 seq 4 RESPONSE MANAGEMENT PORT_DATA_SET \\n\\t\\tportState LISTENING\\n\\t\\tversionNumber 2\\n'
  [ "$name" = TIME_STATUS_NP ] && printf '\\t7eec02.fffe.3233f2-0 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP \\n\\t\\tmaster_offset 5\\n\\t\\tingress_time 7\\n\\t\\tgmPresent true\\n\\t\\tgmIdentity 5a9537.fffe.1e80f7\\n'
done
`

interface Rig {
  folder: string
  /** What the listener got. */
  told: string[]
  /** Processes that were ever started. */
  pids(): number[]
  stop(): Promise<void>
}

function begin(t: Test, { ptp4l = PTP4L, pmc = PMC, on = 'lo' as string | null, restart_most_ms = 100 } = {}): Rig {
  // Short, as a socket's path has to be.
  const folder = mkdtempSync(join(tmpdir(), 'ptp-'))
  for (const [name, text] of Object.entries({ ptp4l, pmc })) {
    if (text === '') continue
    writeFileSync(join(folder, name), text.replaceAll('FOLDER', folder))
    chmodSync(join(folder, name), 0o755)
  }
  const told: string[] = []
  const keys = { poll_ms: 20, answer_ms: 500, restart_ms: 10, restart_most_ms, restarts: 3 }
  const program = createPtpProgram({
    clock: systemClock,
    log: silentLog,
    config: Value.Parse(ptpKeys, Value.Default(ptpKeys, keys)),
    priority1: 128,
    folder,
    interface: () => on ?? undefined,
    folders: [folder],
  })
  program.start({
    answer: ({ kind }) => told.push(kind),
    missing: (sentence) => told.push(`missing ${sentence}`),
    ended: (sentence) => told.push(`ended ${sentence}`),
    gaveUp: (sentence) => told.push(`gave up ${sentence}`),
  })
  t.teardown(async () => {
    await program.stop()
    rmSync(folder, { recursive: true })
  })
  const list = join(folder, 'pids')
  const pids = () => (existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter(Boolean).map(Number) : [])
  return { folder, told, pids, stop: () => program.stop() }
}

const noPrlimit = findProgram('prlimit') === undefined && 'prlimit is not installed'

const isAlive = (pid: number) => existsSync(`/proc/${pid}`)

t.test('asks for the time, then for the other values in turn, and leaves nothing behind', async (t) => {
  const rig = begin(t)
  await until('both were told', () => rig.told.includes('port') && rig.told.includes('time_status'))
  t.match(readFileSync(join(rig.folder, 'ptp4l.conf'), 'utf8'), /priority1 128[\s\S]*\[lo\]/)
  await rig.stop()
  t.equal(rig.pids().length, 2)
  t.same(rig.pids().filter(isAlive), [])
  t.notOk(existsSync(join(rig.folder, 'ptp4l.sock')))
})

t.test('a killed ptp4l is reported, and started again', async (t) => {
  const rig = begin(t)
  await until('it answers', () => rig.told.includes('time_status'))
  process.kill(rig.pids()[0] ?? 0, 'SIGKILL')
  await until('it is told', () => rig.told.some((each) => /^ended ptp4l was ended by SIGKILL/.test(each)))
  rig.told.length = 0
  await until('it answers again', () => rig.told.includes('time_status'))
  t.equal(rig.pids().length, 4)
})

t.test('for one that ends at once its last message is reported, then the fault, and it is retried', async (t) => {
  const rig = begin(t, {
    ptp4l: '#!/bin/sh\n[ "$1" = -v ] && { echo 3.1.1; exit; }\necho "ptp4l[1.2]: no such device" >&2\nexit 3\n',
    // One that ran for longer begins a new series, and a busy machine takes a while to end it.
    restart_most_ms: 60_000,
  })
  await until('it is given up', () => rig.told.filter((each) => each.startsWith('gave up')).length >= 2)
  t.same(rig.told.slice(0, 3), [
    'ended ptp4l ended with 3: no such device',
    'ended ptp4l ended with 3: no such device',
    'gave up ptp4l ended with 3: no such device',
  ])
})

t.test('its memory is limited by the settings', { skip: noPrlimit }, async (t) => {
  const rig = begin(t, { ptp4l: '#!/bin/bash\n[ "$1" = -v ] && { echo 3.1.1; exit; }\nulimit -d >&2\nexit 3\n' })
  await until('it is told', () => rig.told.includes('ended ptp4l ended with 3: 4096'))
})

t.test('one that does not answer is started again', async (t) => {
  const rig = begin(t, { pmc: '#!/bin/sh\nexec sleep 60\n' })
  await until('it is told', () => rig.told.some((each) => /^ended ptp4l has not answered for 500 ms/.test(each)))
  await until('both run anew', () => rig.pids().length === 2)
})

t.test('a stop after a fault waits for a program that does not end on its own', async (t) => {
  const rig = begin(t, { ptp4l: PTP4L.replace('exec', "trap '' TERM\nexec"), pmc: '#!/bin/sh\nexec sleep 60\n' })
  await until('it is told', () => rig.told.some((each) => /^ended ptp4l has not answered/.test(each)))
  await rig.stop()
  t.equal(rig.pids().length, 1)
  t.same(rig.pids().filter(isAlive), [])
})

t.test('without the program, or the network, it says what is missing', async (t) => {
  const bare = begin(t, { pmc: '' })
  await until('it is told', () => bare.told.some((each) => /^missing (ptp4l|pmc) is not installed/.test(each)))
  const none = begin(t, { on: null })
  await until('it is told', () => none.told.some((each) => /there is no network interface/.test(each)))
  const gone = begin(t, { on: 'gone9' })
  await until('it is told', () => gone.told.some((each) => /there is no network interface gone9/.test(each)))
})

t.test('finds a program if it is there, and none otherwise', async (t) => {
  t.equal(findProgram('sh', ['/nowhere', '/bin']), '/bin/sh')
  t.equal(findProgram('sh', ['/nowhere']), undefined)
  t.equal(findProgram('no-such-program-here'), undefined)
})

const [realPtp4l, realPmc] = [findProgram('ptp4l'), findProgram('pmc')]
const isMissing = (!realPtp4l || !realPmc || process.getuid?.() !== 0) && 'ptp4l is not installed, or may not listen'

t.test('the real ptp4l and pmc fit the memory of their row', { skip: isMissing }, async (t) => {
  const real = (program: string | undefined) =>
    `#!/bin/sh\n[ "$1" = -v ] || echo $$ >> FOLDER/pids\nexec ${program} "$@"\n`
  const rig = begin(t, { ptp4l: real(realPtp4l), pmc: real(realPmc) })
  await until('both were told', () => rig.told.includes('port') && rig.told.includes('time_status'))
  const row = rowOf(memoryPlan().rows, 'ptp4l and pmc', { 'ptp.memory_mb': 4 })
  t.equal(rig.pids().length, 2)
  for (const pid of rig.pids()) {
    const bytes = residentMb(pid) * 1e6
    t.ok(bytes < (row.eachBytes ?? 0), `${bytes} bytes, of ${row.eachBytes}`)
  }
})
