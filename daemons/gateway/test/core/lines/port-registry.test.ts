import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { FoundLine } from '#kit/line/line.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type FakeLine, fakeLine, fakeOpener, plainLine } from '#kit/test/line/fake-line.ts'
import { Port } from '../../../core/lines/port.ts'
import { PortRegistry, type RegistryParts } from '../../../core/lines/port-registry.ts'
import { type PortRecord, portRevision } from '../../../core/lines/ports.ts'
import { servedValues } from '../../../core/protocols.ts'

const usb: FoundLine = {
  path: '/dev/ttyUSB0',
  byId: '/dev/serial/by-id/usb-FTDI-if00',
  maker: 'FTDI',
  product: 'FT232R',
  serialNumber: 'A1',
  vendorId: '0403',
  productId: '6001',
}
const wish = { protocol: 'raw', line: plainLine, settings: { queue: 3 } } as const

/** Paths of ports whose adapters were closed for good. */
const ended: string[] = []

function registryWith(changes: { answers?: (FakeLine | Fault)[]; parts?: Partial<RegistryParts> } = {}) {
  const saved: PortRecord[][] = []
  const removed: string[] = []
  const others: string[] = []
  const answers = changes.answers ?? []
  const opener = fakeOpener(() => answers.shift() ?? fakeLine())
  const registry = new PortRegistry({
    checkPath: () => {},
    makePort: (record) =>
      new Port({
        path: record.path,
        line: record.line,
        adapter: {
          attach: () => {},
          detach: () => {},
          whyNoAction: () => '',
          counters: () => ({}),
          end: () => void ended.push(record.path),
        },
        opener,
        clock: fakeClock(),
        retry: { firstMs: 500, maxMs: 1000 },
        publish: () => {},
      }),
    save: async (records) => void saved.push(structuredClone(records)),
    finder: { list: async () => [usb] },
    maxPorts: 2,
    servedValues,
    maxSlaveValues: 200,
    onRemoved: (path) => void removed.push(path),
    onOtherProtocol: (path) => void others.push(path),
    ...changes.parts,
  })
  return { opener, others, registry, removed, saved }
}

t.test('lists a line that was found but is not set up', async (t) => {
  const { registry } = registryWith()
  t.match(await registry.list(), [{ path: '/dev/ttyUSB0', found: usb, record: null, port: null }])
})

t.test('a configured line and the line found are the same, by path or by stable name', async (t) => {
  for (const path of [usb.path, usb.byId ?? '']) {
    const { registry } = registryWith()
    await registry.put(path, wish)
    const list = await registry.list()
    t.equal(list.length, 1)
    t.match(list[0], { path, found: usb, record: { enabled: true } })
  }
})

t.test('setting a port up opens it and saves the settings given, not the defaults', async (t) => {
  const { registry, saved } = registryWith()
  await registry.put('/dev/ttyS0', wish)
  t.equal(registry.require('/dev/ttyS0').life().state, 'open')
  const record = { path: '/dev/ttyS0', ...wish, enabled: true, points: [], webhooks: [] }
  t.same(saved, [[record]])
})

t.test('a setting that the driver refuses changes nothing: the line runs as before', async (t) => {
  const answers = [fakeLine(), new Fault('line_refused', 'TCSETS2 says EINVAL'), fakeLine()]
  const { registry, saved } = registryWith({ answers })
  await registry.put('/dev/ttyS0', wish)
  await t.rejects(registry.put('/dev/ttyS0', { ...wish, settings: { queue: 9 } }), {
    code: 'line_refused',
    message: 'TCSETS2 says EINVAL',
  })
  t.equal(registry.require('/dev/ttyS0').life().state, 'open')
  t.match(registry.record('/dev/ttyS0'), { settings: { queue: 3 } })
  t.equal(saved.length, 1)
})

t.test('a change based on outdated settings is refused before the line is touched', async (t) => {
  const { registry, saved } = registryWith()
  const asked: (string | undefined)[] = []
  const note = (revision: string | undefined) => void asked.push(revision)
  await registry.put('/dev/ttyS0', wish, note)
  await registry.put('/dev/ttyS0', { ...wish, settings: { queue: 9 } }, note)
  await registry.setEnabled('/dev/ttyS0', true)
  const refuse = () => {
    throw new Fault('changed_meanwhile', 'another')
  }
  const { port } = await registry.view('/dev/ttyS0')
  await t.rejects(registry.put('/dev/ttyS0', wish, refuse), { code: 'changed_meanwhile' })
  t.equal((await registry.view('/dev/ttyS0')).port, port, 'it runs as before')
  t.match(registry.record('/dev/ttyS0'), { settings: { queue: 9 } })
  t.equal(saved.length, 3)
  t.same(asked, [undefined, portRevision(wish)], 'nothing before, then what the first change set')
})

t.test('settings that cannot be saved are not applied either', async (t) => {
  let isFull = false
  const save = async () => {
    if (isFull) throw new Fault('store_write_failed', 'the disk is full')
  }
  const { registry } = registryWith({ parts: { save } })
  await registry.put('/dev/ttyS0', wish)
  isFull = true
  await t.rejects(registry.put('/dev/ttyS0', { ...wish, settings: { queue: 9 } }), { code: 'store_write_failed' })
  await t.rejects(registry.put('/dev/ttyS1', wish), { code: 'store_write_failed' })
  t.match(registry.record('/dev/ttyS0'), { settings: { queue: 3 } })
  t.equal(registry.require('/dev/ttyS0').life().state, 'open')
  t.throws(() => registry.require('/dev/ttyS1'), { code: 'unknown_port' })
})

t.test('an absent device can be set up before it is plugged in', async (t) => {
  const { registry, saved } = registryWith({ answers: [new Fault('line_absent', 'no such device')] })
  await registry.put('/dev/ttyUSB7', wish)
  t.equal(registry.require('/dev/ttyUSB7').life().state, 'absent')
  t.equal(saved.length, 1)
})

t.test('setting a port up again keeps its webhooks', async (t) => {
  const { registry } = registryWith()
  const hook = { id: '1', url: 'http://127.0.0.1/', events: [], secret: null, headers: {}, enabled: true }
  await registry.put('/dev/ttyS0', wish)
  await registry.amend('/dev/ttyS0', (record) => ({ ...record, webhooks: [hook] }))
  await registry.put('/dev/ttyS0', wish)
  t.match(registry.record('/dev/ttyS0').webhooks, [hook])
})

t.test('a follower of a port hears when its protocol changes, and only then', async (t) => {
  const { others, registry } = registryWith()
  await registry.put('/dev/ttyS0', wish)
  await registry.put('/dev/ttyS0', { ...wish, settings: { queue: 4 } })
  t.same(others, [])
  await registry.put('/dev/ttyS0', { ...wish, protocol: 'modbus-rtu' })
  t.same(others, ['/dev/ttyS0'])
})

t.test('a closed port is remembered as closed, and does not open at the next start', async (t) => {
  const { registry, saved } = registryWith()
  await registry.put('/dev/ttyS0', wish)
  await registry.setEnabled('/dev/ttyS0', false)
  const records = saved.at(-1) ?? []
  const { opener, registry: later } = registryWith()
  await later.start(records)
  t.equal(opener.opened, 0)
  t.equal(later.require('/dev/ttyS0').life().state, 'closed')
})

t.test('a removed port is closed and forgotten', async (t) => {
  const { registry, removed, saved } = registryWith()
  await registry.put('/dev/ttyS0', wish)
  const port = registry.require('/dev/ttyS0')
  await registry.remove('/dev/ttyS0')
  t.equal(port.life().state, 'closed')
  t.same(saved.at(-1), [])
  t.same(removed, ['/dev/ttyS0'])
  t.throws(() => registry.require('/dev/ttyS0'), {
    code: 'unknown_port',
    message: /Set it up first: PUT \/api\/ports\/%2Fdev%2FttyS0 with \{"protocol"/,
  })
  await t.rejects(registry.remove('/dev/ttyS0'), { code: 'unknown_port' })
})

t.test('refuses a port over the bound, and any path that is not allowed', async (t) => {
  const { registry } = registryWith()
  await registry.put('/dev/ttyS0', wish)
  await registry.put('/dev/ttyS1', wish)
  await t.rejects(registry.put('/dev/ttyS2', wish), { code: 'too_many_ports' })
  const refusing = registryWith({
    parts: {
      checkPath: () => {
        throw new Fault('port_not_allowed', 'no')
      },
    },
  })
  t.throws(() => refusing.registry.put('/dev/sda', wish), { code: 'port_not_allowed' })
})

t.test('concurrent changes are applied one after another, and none is lost', async (t) => {
  const { registry, saved } = registryWith()
  await Promise.all([registry.put('/dev/ttyS0', wish), registry.put('/dev/ttyS1', wish)])
  t.same(
    saved.map((records) => records.map((record) => record.path)),
    [['/dev/ttyS0'], ['/dev/ttyS0', '/dev/ttyS1']],
  )
})

t.test('an adapter is closed once it is replaced or its port is removed, not while it may come back', async (t) => {
  ended.length = 0
  const { registry } = registryWith()
  await registry.put('/dev/ttyS0', wish)
  await registry.setEnabled('/dev/ttyS0', false)
  t.same(ended, [])
  await registry.put('/dev/ttyS0', wish)
  t.same(ended, ['/dev/ttyS0'])
  await registry.remove('/dev/ttyS0')
  t.same(ended, ['/dev/ttyS0', '/dev/ttyS0'])
})

t.test('ports are saved in the order they are listed, whichever was changed', async (t) => {
  const { registry, saved } = registryWith()
  await registry.put('/dev/ttyS0', wish)
  await registry.put('/dev/ttyS1', wish)
  await registry.put('/dev/ttyS0', wish)
  await registry.setEnabled('/dev/ttyS0', false)
  t.same(
    saved.at(-1)?.map(({ path }) => path),
    registry.all().map(({ path }) => path),
  )
})

t.test('registers served by all ports together are bounded, and a changed port counts once', async (t) => {
  const { registry } = registryWith()
  const serving = (units: number[], quantity: number) => ({
    ...({ protocol: 'modbus-rtu', line: plainLine } as const),
    settings: { slave_units: units, slave_blocks: [{ table: 'coils', address: 0, quantity, initial: null }] },
  })
  await registry.put('/dev/ttyS0', serving([1, 2], 50))
  await registry.put('/dev/ttyS1', serving([1], 100))
  t.equal(registry.all().length, 2, 'filled to the bound')
  await t.rejects(registry.put('/dev/ttyS1', serving([1], 101)), { code: 'too_many_slave_values' })
  await registry.put('/dev/ttyS0', serving([1], 50))
  await registry.put('/dev/ttyS1', serving([1], 150))
  await registry.put('/dev/ttyS0', wish)
})

t.test(
  'a line that is lent is closed, refuses every change, and is opened with its own settings when it is back',
  async (t) => {
    const { opener, registry, saved } = registryWith()
    await registry.put(usb.path, wish)
    const why = new Fault('line_hunted', 'a hunt has it')
    await t.rejects(registry.lend(usb.path, false, why), { code: 'line_in_use', message: /takeOver/ })
    const { giveBack, settings, wasOpen } = await registry.lend(usb.path, true, why)
    t.equal(wasOpen, true)
    t.strictSame(settings, plainLine)
    const port = registry.require(usb.path)
    t.match(port.life(), { state: 'closed', fault: { code: 'line_hunted' } })
    t.equal(port.whyNotOpen(), why)
    for (const acting of [
      registry.put(usb.path, wish),
      registry.setEnabled(usb.path, true),
      registry.setEnabled(usb.path, false),
      registry.remove(usb.path),
      registry.lend(usb.path, true, why),
    ] as Promise<unknown>[])
      await t.rejects(acting, { code: 'line_hunted' })
    t.equal(opener.opened, 1)
    await giveBack()
    t.match(port.life(), { state: 'open', fault: null })
    t.equal(opener.opened, 2)
    t.equal(saved.length, 1, 'its record was not touched')
    await registry.remove(usb.path)
  },
)

t.test('a closed line is lent without more ado and stays closed, and so is one that is not set up', async (t) => {
  const { registry } = registryWith()
  await registry.put(usb.path, wish)
  await registry.setEnabled(usb.path, false)
  const why = new Fault('line_hunted', 'a hunt has it')
  const { giveBack } = await registry.lend(usb.path, false, why)
  t.match(registry.require(usb.path).life(), { state: 'closed', fault: { code: 'line_hunted' } })
  await giveBack()
  t.match(registry.require(usb.path).life(), { state: 'closed', fault: null })
  t.equal(registry.require(usb.path).whyNotOpen().code, 'line_closed')
  const other = await registry.lend('/dev/ttyS1', false, why)
  t.equal(other.settings, undefined)
  await t.rejects(registry.put('/dev/ttyS1', wish), { code: 'line_hunted' })
  await other.giveBack()
  await registry.put('/dev/ttyS1', wish)
})

t.test('a line whose port cannot be closed is not lent, and is not lent for good either', async (t) => {
  const stuck = { ...fakeLine(), close: () => Promise.reject(new Fault('close_failed', 'close: EIO')) }
  const { registry } = registryWith({ answers: [stuck as FakeLine] })
  await registry.put(usb.path, wish)
  const why = new Fault('line_hunted', 'a hunt has it')
  await t.rejects(registry.lend(usb.path, true, why), { code: 'close_failed' })
  t.match(registry.require(usb.path).life(), { state: 'open', fault: null })
  await registry.setEnabled(usb.path, true)
})
