/** Tests of io/audit-file.ts against the loss of records: by kills and full disks. */
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { builtProgram } from '#kit/test/built-program.ts'
import { noSmallDisk } from '../small-disk.ts'
import { rowsIn } from './audit-here.ts'

const child = builtProgram(t, join(import.meta.dirname, 'audit-child.ts'))

t.test('a kill loses no record that was acknowledged', { timeout: 60_000 }, async (t) => {
  const folder = t.testdir({ a: {}, b: {} })
  let acknowledged = 0
  /** One process after another in one folder, each killed while it writes. */
  async function lane(name: string): Promise<void> {
    for (let kill = 0; kill < 10; kill++) {
      const args = [child, join(folder, name), String(kill)]
      const running = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 2] })
      let said = ''
      running.stdout?.setEncoding('utf8').on('data', (part) => {
        said += part
        if (said.length > 200 * (kill + 1)) running.kill('SIGKILL')
      })
      await new Promise((resolve) => running.once('close', resolve))
      const kept = new Set(rowsIn(join(folder, name)).map(({ run_id }) => run_id))
      const told = said.split('\n').slice(0, -1).map(Number)
      acknowledged += told.length
      const missing = told.filter((run) => !kept.has(run))
      if (missing.length > 0) t.fail(`kill ${kill}: ${missing.length} of ${told.length} are missing`)
    }
  }
  await Promise.all([lane('a'), lane('b')])
  t.ok(acknowledged > 100, `${acknowledged} records were acknowledged`)
})

t.test(
  'a full disk stores nothing, and waiting records are written once there is room',
  { skip: noSmallDisk() },
  async (t) => {
    const folder = t.testdir({ disk: {} })
    const script = `mount -t tmpfs -o size=640k none "$1" && exec "$2" "$3" "$1" full`
    const command = ['-m', 'sh', '-c', script, 'sh', join(folder, 'disk'), process.execPath, child]
    const ran = spawnSync('unshare', command, {
      encoding: 'utf8',
      env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, PATH: process.env.PATH },
    })
    t.match(ran.stderr, /audit_failing .*full/)
    t.match(ran.stderr, /audit_written_again/)
    t.same(JSON.parse(ran.stdout), {
      tookBefore: true,
      took: false,
      isWaiting: true,
      tookAgain: true,
      rows: 401,
      gaps: 0,
    })
  },
)
