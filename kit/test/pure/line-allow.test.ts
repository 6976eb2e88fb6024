import t from 'tap'
import { createLineRule, openerOfAllowed, serialLineGlobs } from '../../pure/line.ts'
import { fakeLine, fakeOpener, plainLine } from '../line/fake-line.ts'

const check = createLineRule(serialLineGlobs, 'ports.allow')

for (const path of ['/dev/ttyS0', '/dev/ttyUSB12', '/dev/ttyAMA0', '/dev/serial/by-id/usb-FTDI_FT232R-if00-port0'])
  t.test(`allows ${path}`, async (t) => {
    t.doesNotThrow(() => check(path))
  })

const refused = [
  '/dev/sda',
  '/dev/tty',
  '/dev/pts/3',
  '/dev/ttyUSB0/../sda',
  '/dev/serial/by-id/../../sda',
  '/dev/./ttyS0',
  'ttyS0',
  '/etc/passwd',
  '/dev/serial/by-id/a/b',
  '/dev/ttyS0\n',
  '/dev/ttyS\x000',
  `/dev/ttyS${'0'.repeat(5000)}`,
  '',
]
for (const path of refused)
  t.test(`refuses ${JSON.stringify(path.slice(0, 40))}`, async (t) => {
    t.throws(() => check(path), { code: 'port_not_allowed' })
  })

t.test('allows the patterns of the installer, in which dots are literal', async (t) => {
  const own = createLineRule(['/dev/pts/*', '/dev/tty.x'], 'ports.allow')
  t.doesNotThrow(() => own('/dev/pts/3'))
  t.throws(() => own('/dev/ttyUx'), { code: 'port_not_allowed' })
  t.throws(() => own('/dev/ttyS0'), { message: /ports\.allow: \/dev\/pts/ })
})

t.test('a kept port whose path is no longer allowed is not opened', async (t) => {
  const opener = fakeOpener(() => fakeLine())
  const allowed = openerOfAllowed(check, opener)
  await t.rejects(allowed.open('/dev/pts/3', plainLine), { code: 'port_not_allowed' })
  t.equal(opener.opened, 0)
  await allowed.open('/dev/ttyS0', plainLine)
  t.equal(opener.opened, 1)
})
