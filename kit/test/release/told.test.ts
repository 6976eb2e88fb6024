/** What updates tell others: the file beside their state, which a controller shows. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { Value } from 'typebox/value'
import { fakeClock } from '../../clock-fake.ts'
import { Fault } from '../../pure/fault.ts'
import { LONGEST_TOLD, MOST_TOLD, TOLD_BYTES, toldSchema, type UpdateTold } from '../../pure/update-told.ts'
import { applyUpdate, checkForUpdate, settleUpdate } from '../../release/apply.ts'
import { beginTelling } from '../../release/told.ts'
import { isUpdating } from '../../release/update-lock.ts'
import { publish, publisher, stageMachine, stageServer } from './update-stage.ts'

const people = publisher()

function toldAt(state: string): UpdateTold {
  const told: unknown = JSON.parse(readFileSync(join(`${state}-told`, 'told.json'), 'utf8'))
  if (!Value.Check(toldSchema, told)) throw new Error(`not as described: ${JSON.stringify(told)}`)
  return told
}

async function staged(t: Test) {
  const server = await stageServer(t)
  const machine = stageMachine(t.testdir(), server.url, people)
  return { ...machine, server, told: () => toldAt(machine.state) }
}

t.test('what an update says is told in the same words, and what came of it', async (t) => {
  const { parts, said, server, state, told } = await staged(t)
  server.offered = publish(people, '1.1.0')
  const running: boolean[] = []
  async function backup(): Promise<null> {
    const { run } = told()
    t.match(run, { task: 'apply', end: null })
    running.push(await isUpdating(parts().root))
    return null
  }
  await applyUpdate(parts({ hooks: { backup } }))
  const { last, looked, run } = told()
  t.same(
    run.lines.map(({ text }) => text),
    said,
  )
  t.match(run, { task: 'apply', end: { outcome: 'applied', text: '1.1.0 runs, in the place of 1.0.0' } })
  t.match(last, { outcome: 'applied', text: '1.1.0 runs, in the place of 1.0.0' })
  t.match(looked, { newest: null })
  t.same([...running, await isUpdating(parts().root)], [true, false])
  t.equal(statSync(join(`${state}-told`, 'told.json')).mode & 0o777, 0o644, 'others may read it')
  t.equal(statSync(`${state}-told`).mode & 0o777, 0o755)
})

t.test('a look tells the newest, its window, and nothing of an update', async (t) => {
  const { parts, server, told } = await staged(t)
  server.offered = publish(people, '1.1.0')
  server.offered.offer.window = '03:00-04:00'
  await checkForUpdate(parts())
  t.match(told(), { run: { task: 'check', end: { outcome: 'available' } }, last: null })
  t.match(told().looked, { newest: '1.1.0', window: '03:00-04:00' })
  server.odd = () => ({ status: 503 })
  await t.rejects(checkForUpdate(parts()))
  t.match(told(), { run: { end: { outcome: 'failed', code: 'update_server_refused' } }, last: null })
  t.match(told().looked, { newest: '1.1.0' }, 'what was seen before stays')
})

t.test('an update that was taken back is told with its reason, also after later looks', async (t) => {
  const { parts, server, told } = await staged(t)
  server.offered = publish(people, '1.1.0')
  const health = async () => ({ state: 'dead', why: 'gateway has ended', upMs: null }) as const
  await applyUpdate(parts({ hooks: { health } }))
  const text = '1.1.0 was taken back, and 1.0.0 runs again: gateway has ended'
  t.match(told(), { run: { end: { outcome: 'rolled_back', text } }, last: { outcome: 'rolled_back', text } })
  await checkForUpdate(parts())
  t.match(told(), { run: { end: { outcome: 'bad' } }, last: { outcome: 'rolled_back', text } })
  t.match(told().looked, { newest: '1.1.0', bad: 'gateway has ended' })
})

t.test(
  'C.4 where dependencies cannot be installed nothing is restarted, and what is told names the backup from before',
  async (t) => {
    const { calls, parts, server, told } = await staged(t)
    server.offered = publish(people, '1.1.0')
    async function dependencies(): Promise<never> {
      throw new Error(`npm ended with 1: ${'x'.repeat(3000)}`)
    }
    await t.rejects(applyUpdate(parts({ hooks: { dependencies } })))
    t.same(calls, ['backup'], 'no restart')
    const { end } = told().run
    t.match(end, { outcome: 'failed', code: 'update_dependencies_failed' })
    t.match(
      end?.text,
      /nothing was restarted, and what runs stays\. The backup from before is \/backups\/one: put it back/,
    )
    t.match(told().last, { outcome: 'failed', text: end?.text })
  },
)

t.test(
  'what must not be cut puts an update off: no restart, no report, and the next try has it all there',
  async (t) => {
    const { calls, parts, server, told } = await staged(t)
    server.offered = publish(people, '1.1.0')
    async function hold(): Promise<never> {
      throw new Fault('update_put_off', 'macros ran for all of the 10 min')
    }
    await t.rejects(applyUpdate(parts({ hooks: { hold } })), { code: 'update_put_off' })
    t.same(calls, ['backup'])
    t.match(told(), { run: { end: { outcome: 'put_off', code: 'update_put_off' } }, last: null })
    t.equal(await settleUpdate(parts()), undefined, 'a start of the machine changes nothing')
    t.match(told().run, { task: 'settle', end: { outcome: 'settled' } })
    t.match(await applyUpdate(parts()), { outcome: 'applied', version: '1.1.0' })
    t.equal(server.pulls.length, 1, 'it is not downloaded again')
    t.equal(server.checks[1]?.facts, undefined, 'it is no failure of the release')
  },
)

t.test('what is held back is let go with the end of the update, however that ends', async (t) => {
  const { parts, server } = await staged(t)
  server.offered = publish(people, '1.1.0')
  let held = 0
  const hold = async () => {
    held++
    return { release: () => void held-- }
  }
  const restart = async () => {
    t.equal(held, 1, 'held back until it is restarted')
    throw new Error('systemctl ended with 1')
  }
  await t.rejects(applyUpdate(parts({ hooks: { hold, restart } })))
  t.equal(held, 0)
})

t.test('one that finds another running tells nothing', async (t) => {
  const { parts, server, told } = await staged(t)
  server.offered = publish(people, '1.1.0')
  async function backup(): Promise<null> {
    await t.rejects(checkForUpdate(parts()), { code: 'update_running' })
    t.match(told().run, { task: 'apply', end: null })
    return null
  }
  t.match(await applyUpdate(parts({ hooks: { backup } })), { outcome: 'applied' })
})

t.test('what is told stays small, and fits what is read of it', async (t) => {
  const state = join(t.testdir(), 'update')
  const clock = fakeClock()
  const teller = await beginTelling(state, 'apply', clock)
  for (let count = 0; count < 3 * MOST_TOLD; count++) teller.say(`${count} ${'\u0001'.repeat(2 * LONGEST_TOLD)}`)
  await teller.fail(new Fault('update_failed', 'x'.repeat(2 * LONGEST_TOLD)))
  const { run } = toldAt(state)
  t.equal(run.lines.length, MOST_TOLD)
  t.match(
    run.lines.at(-1)?.text,
    new RegExp(`^${3 * MOST_TOLD - 1} \\\\u0001`),
    'what a terminal would act on is escaped',
  )
  t.ok(statSync(join(`${state}-told`, 'told.json')).size <= TOLD_BYTES)
})

t.test('a damaged file is told anew, and each run has a time of its own', async (t) => {
  const state = join(t.testdir({ 'update-told': { 'told.json': '{"run":' } }), 'update')
  const clock = fakeClock()
  const first = await beginTelling(state, 'check', clock)
  await first.end(undefined)
  const second = await beginTelling(state, 'check', clock)
  t.ok(second.begunAt > first.begunAt)
  writeFileSync(join(`${state}-told`, 'told.json'), '[]')
  await second.end(undefined)
  t.match(toldAt(state).run, { begunAt: second.begunAt, end: { outcome: 'settled' } })
})

t.test('a disk that takes nothing does not stop an update', async (t) => {
  const { parts, root, server, state } = await staged(t)
  server.offered = publish(people, '1.1.0')
  writeFileSync(`${state}-told`, 'a file in the place of the folder')
  t.match(await applyUpdate(parts()), { outcome: 'applied' })
  t.equal(await isUpdating(root), false)
})
