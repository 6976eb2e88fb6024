/** Lines of the log: levels, facts, secrets, forged lines. */
import { t } from 'tap'
import { createLog, type LogLevel } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'

function lines(level: LogLevel = 'debug', journal = true) {
  const written: string[] = []
  const log = createLog({ level, journal, stream: { write: (line) => written.push(line) } })
  return { log, written }
}

t.test('writes one event as one line of key=value', async (t) => {
  const { log, written } = lines()
  log.notice('listening', { url: 'http://127.0.0.1:3132', sockets: 64, tls: false })
  t.same(written, ['<5>listening url=http://127.0.0.1:3132 sockets=64 tls=false\n'])
})

t.test('begins lines with the journal priority of each level', async (t) => {
  const { log, written } = lines()
  log.error('a')
  log.warning('b')
  log.notice('c')
  log.info('d')
  log.debug('e')
  t.same(written, ['<3>a\n', '<4>b\n', '<5>c\n', '<6>d\n', '<7>e\n'])
})

t.test('begins lines with time and level if there is no journal', async (t) => {
  const { log, written } = lines('debug', false)
  log.warning('port lost', { port: '/dev/ttyS0' })
  t.match(written[0], /^\d{4}-\d\d-\d\dT[\d:.]+Z warning port lost port=\/dev\/ttyS0\n$/)
})

t.test('leaves out what is less urgent than its level', async (t) => {
  const { log, written } = lines('notice')
  log.info('quiet')
  log.debug('quieter')
  log.notice('said')
  t.same(written, ['<5>said\n'])
})

t.test('quotes a value that is not a single word', async (t) => {
  const { log, written } = lines()
  log.info('seen', { a: 'two words', b: '', c: 'x=1', d: 'say "hi"', e: [1, 2], f: undefined, g: null, h: 12n })
  t.same(written, ['<6>seen a="two words" b="" c="x=1" d="say \\"hi\\"" e=[1,2] g=null h=12\n'])
})

t.test('lets nobody forge a line', async (t) => {
  const { log, written } = lines()
  log.info('in\nto', { name: 'a\n<3>b', esc: '\u001b[2J', c1: '\u009b2J', sep: '\u2028' })
  t.equal(written.length, 1)
  t.equal(written[0]?.indexOf('\n'), (written[0]?.length ?? 0) - 1, 'one newline, at the end')
  for (const sign of ['\u001b', '\u009b', '\u2028']) t.notOk(written[0]?.includes(sign))
})

t.test('adds the facts of a child to each of its lines', async (t) => {
  const { log, written } = lines()
  log.child({ port: 'a' }).child({ unit: 3 }).info('late', { tookMs: 5 })
  t.same(written, ['<6>late port=a unit=3 tookMs=5\n'])
})

t.test('writes a fault as its code, its sentence and its causes', async (t) => {
  const { log, written } = lines()
  log.error('failed', { fault: new Fault('line_lost', 'ttyUSB0 went away', { cause: new Error('EIO') }) })
  t.same(written, ['<3>failed fault="line_lost: ttyUSB0 went away <- EIO"\n'])
})

t.test('writes the origin of an unexpected error', async (t) => {
  const { log, written } = lines()
  log.error('failed', { fault: new TypeError('x is not a function') })
  t.match(written[0], /fault="x is not a function" fault_stack="at .*log\.test\.ts/)
})

t.test('never writes a secret', async (t) => {
  const { log, written } = lines()
  log.info('login', { password: 'hunter2', request: { token: 'hunter2', name: 'ann' } })
  log.info('target', { url: 'http://ann:hunter2@host/x', path: '/ws?ticket=hunter2&a=1', head: 'Bearer hunter2' })
  t.notMatch(written.join(''), /hunter2/)
  t.match(written[1], /url=http:\/\/\*\*\*@host\/x path="\/ws\?ticket=\*\*\*&a=1"/)
})

t.test('no password in an address is written, whatever signs are in it', async (t) => {
  const { log, written } = lines()
  for (const password of ['p@ss', 'a/b', '/@/', '@', 'a//b@c', "it's"])
    log.info('opened', {
      camera: `rtsp://ann:${password}@host:554/live`,
      said: [`to rtsp://x:${password}@host/, again`],
    })
  for (const line of written)
    t.match(line, /^<6>opened camera=rtsp:\/\/\*\*\*@host:554\/live said=\["to rtsp:\/\/\*\*\*@host\/, again"\]\n$/)
  const long = process.cpuUsage()
  log.debug('bytes', { text: `@${'//a'.repeat(300_000)}` })
  t.ok(process.cpuUsage(long).user < 1_000_000, 'in time that grows with the text alone')
})

t.test('shortens a long value and says how long it was', async (t) => {
  const { log, written } = lines()
  log.debug('bytes', { hex: 'A'.repeat(5000) })
  t.match(written[0], /hex=A{1024}\.\.\.\(5000 characters\)|hex="A{1024}\.\.\.\(5000 characters\)"/)
})
