/** Tests of io/interfaces.ts. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chosenInterface, firstMac, isInterfaceThere, macOf } from '../../io/interfaces.ts'

t.test('the more specific setting wins, and without one the interface with the default route', async (t) => {
  t.equal(
    chosenInterface(['eth1', 'eth0'], () => 'eth9'),
    'eth1',
  )
  t.equal(
    chosenInterface(['', 'eth0'], () => 'eth9'),
    'eth0',
  )
  t.equal(
    chosenInterface(['', ''], () => 'eth9'),
    'eth9',
  )
  t.equal(
    chosenInterface(['', ''], () => undefined),
    undefined,
  )
})

t.test('RFC 7273 4.4 writes an address with dashes; zeros if there is none', async (t) => {
  const folder = t.testdir()
  for (const [name, text] of [
    ['eth0', '00:1d:c1:12:34:56\n'],
    ['tun0', '\n'],
  ] as const) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'address'), text)
  }
  t.equal(macOf('eth0', folder), '00-1D-C1-12-34-56')
  for (const name of ['tun0', 'eth9', undefined]) t.equal(macOf(name, folder), '00-00-00-00-00-00')
  t.ok(isInterfaceThere('eth0', folder))
  t.notOk(isInterfaceThere('eth9', folder))
})

t.test('RFC 7273 4.4 a board that starts before its network finds its address later, and keeps it', async (t) => {
  const folder = t.testdir()
  const way: { name: string | undefined } = { name: undefined }
  const mac = firstMac(['', ''], () => way.name, folder)
  t.equal(mac(), '00-00-00-00-00-00')
  for (const [name, text] of [
    ['eth0', '00:1d:c1:12:34:56\n'],
    ['eth1', '00:1d:c1:12:34:57\n'],
  ] as const) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'address'), text)
    way.name = name
    t.equal(mac(), '00-1D-C1-12-34-56')
  }
})
