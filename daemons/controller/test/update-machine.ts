/** A machine whose controller stands in a folder of releases, with an update service that a test plays. */
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { UpdateRun, UpdateTold } from '#kit/pure/update-told.ts'
import { lockUpdates } from '#kit/release/update-lock.ts'
import type { Owner } from '#kit/test/running-daemon.ts'

const BUILD = join(import.meta.dirname, '../../../build')

/** What a controller is made of, and the commands. */
const PROGRAMS = ['plantroom', 'plantroom.mjs', 'commands.mjs', 'controller.mjs', 'web', 'templates', 'native']

/** The controller as built, as a release. @returns the folder with `releases`, and its command */
export function installedController(t: Owner): { folder: string; root: string; command: string } {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plantroom-machine-')))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const root = join(folder, 'root')
  const release = join(root, 'releases/0.1.0-00000000')
  mkdirSync(release, { recursive: true })
  for (const name of PROGRAMS) cpSync(join(BUILD, name), join(release, name), { recursive: true })
  symlinkSync(process.execPath, join(release, 'node'))
  writeFileSync(join(release, '.complete'), JSON.stringify({ version: '0.1.0', bundle: '0'.repeat(64) }))
  symlinkSync('releases/0.1.0-00000000', join(root, 'current'))
  return { folder, root, command: join(root, 'current/plantroom') }
}

/** An update service of a test: each request begins a run, which the test goes on with. */
export async function playedService(t: Owner, { folder, root }: { folder: string; root: string }) {
  const [socket, toldFile] = [join(folder, 'update.sock'), join(folder, 'told.json')]
  const asks: string[] = []
  const told: UpdateTold = { run: { task: 'settle', begunAt: 1, lines: [], end: null }, looked: null, last: null }
  let lock: Awaited<ReturnType<typeof lockUpdates>> | undefined

  function tell(): void {
    writeFileSync(`${toldFile}.tmp`, JSON.stringify(told))
    renameSync(`${toldFile}.tmp`, toldFile)
  }
  async function begin(task: UpdateRun['task']): Promise<number> {
    lock = await lockUpdates(root)
    told.run = { task, begunAt: Math.max(Date.now(), told.run.begunAt + 1), lines: [], end: null }
    tell()
    return told.run.begunAt
  }
  const server = createServer((peer) => {
    peer.on('error', () => {})
    peer.once('data', async (data) => {
      const word = String(data).trim()
      const answer = lock === undefined ? `begun ${await begin(word as 'check' | 'apply')}` : 'running'
      // Only once it has begun: a test that sees the request may end the run right away.
      asks.push(word)
      peer.end(`${answer}\n`)
    })
  })
  server.listen(socket)
  await once(server, 'listening')
  t.teardown(() => {
    lock?.release()
    server.close()
  })
  return {
    asks,
    sets: [`updating.socket=${socket}`, `updating.told_file=${toldFile}`, 'updating.watch_ms=50', 'updating.look_ms=0'],
    say(text: string) {
      told.run.lines = [...told.run.lines, { at: Date.now(), text }]
      tell()
    },
    end(outcome: NonNullable<UpdateRun['end']>['outcome'], text: string, more: Partial<UpdateTold> = {}) {
      told.run.end = { at: Date.now(), outcome, text }
      Object.assign(told, more)
      tell()
      lock?.release()
      lock = undefined
    },
  }
}
