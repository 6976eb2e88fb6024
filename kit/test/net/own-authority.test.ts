/** A daemon's own root and certificate over years, clocks that were never set, and machines that are renamed. */
import { X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { createLog, silentLog } from '#kit/log.ts'
import { lateAuthority, machineNames, openOwnAuthority } from '#kit/net/own-authority.ts'

const DAY_MS = 86_400_000
const AT = Date.UTC(2026, 10, 26)

interface House {
  folder: string
  clock: FakeClock
  machine: { names: string[]; addresses: string[] }
  written: string[]
  open(): ReturnType<typeof openOwnAuthority>
}

function house(t: Test, epochMs = AT): House {
  const folder = t.testdir({})
  const clock = fakeClock(epochMs)
  const machine = { names: ['box', 'box.local'], addresses: ['10.0.0.7', 'fe80::1'] }
  const written: string[] = []
  const log = createLog({ level: 'debug', stream: { write: (line) => void written.push(line) } })
  const open = () => openOwnAuthority({ folder, clock, log, product: 'Test gateway', machine: () => machine })
  return { folder, clock, machine, written, open }
}

const leafOf = (authority: { identity(): { certificate: string } }) =>
  new X509Certificate(authority.identity().certificate)

t.test('the root is made once, lives ten years, and its file is for the owner alone', async (t) => {
  const { folder, open } = house(t)
  const first = await open()
  const root = new X509Certificate(first.rootCertificate())
  t.match(root.subject, /CN=Test gateway box CA [0-9a-f]{8}$/)
  t.equal(root.validToDate.getTime(), AT + 3652 * DAY_MS)
  t.equal(statSync(join(folder, 'tls.json')).mode & 0o777, 0o600)
  t.equal((await open()).rootCertificate(), first.rootCertificate(), 'the next start finds it')
  t.equal(first.view().leaf, undefined, 'a server without TLS has no certificate')
  t.throws(() => first.identity(), TypeError)
})

t.test('the certificate has the names and addresses, and lives for at most 397 days', async (t) => {
  const { open } = house(t)
  const authority = await open()
  await authority.renew()
  const leaf = leafOf(authority)
  t.equal(leaf.checkIssued(new X509Certificate(authority.rootCertificate())), true)
  t.equal(leaf.validToDate.getTime() - leaf.validFromDate.getTime(), 397 * DAY_MS)
  t.equal(leaf.validFromDate.getTime(), AT - DAY_MS, 'clocks of clients may be a day behind')
  t.match(authority.view(), {
    rootFingerprint: /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/,
    leaf: {
      names: ['box', 'box.local', 'localhost'],
      addresses: ['10.0.0.7', '127.0.0.1', '0:0:0:0:0:0:0:1'],
      endsAt: AT + 396 * DAY_MS,
    },
    outside: [],
  })
})

t.test('it is renewed sixty days before it ends, and not before; the root stays', async (t) => {
  const { clock, open } = house(t)
  const authority = await open()
  const timer = await authority.keepRenewed(DAY_MS)
  const [identity, root] = [authority.identity(), authority.rootCertificate()]
  await clock.run(335 * DAY_MS)
  t.equal(authority.identity(), identity)
  await clock.run(3 * DAY_MS)
  await authority.renew()
  t.not(authority.identity().key, identity.key)
  t.ok(leafOf(authority).validToDate.getTime() > clock.epochMs() + 390 * DAY_MS)
  t.equal(authority.rootCertificate(), root)
  timer.cancel()
})

t.test('another name or address makes another certificate; one that is gone does not', async (t) => {
  const { machine, open } = house(t)
  const authority = await open()
  await authority.renew()
  const first = authority.identity()
  machine.addresses = []
  await authority.renew()
  t.equal(authority.identity(), first, 'an interface that is down comes back')
  machine.addresses = ['10.0.0.7', '10.0.0.8', '2001:db8::1']
  await authority.renew()
  t.same(authority.view().leaf?.addresses.slice(0, 3), ['10.0.0.7', '10.0.0.8', '2001:DB8:0:0:0:0:0:1'])
  const second = authority.identity()
  await authority.renew()
  t.equal(authority.identity(), second)
})

t.test('a name for which the root may not sign is left out, and told once', async (t) => {
  const { machine, open, written } = house(t)
  const authority = await open()
  machine.names = ['pump', 'pump.local', 'gw.example.com']
  await authority.renew()
  await authority.renew()
  t.same(authority.view().leaf?.names, ['pump.local', 'localhost'])
  t.same(authority.view().outside, ['pump', 'gw.example.com'])
  const told = written.filter((line) => line.includes('names without a certificate'))
  t.equal(told.length, 1)
  t.match(told[0], /pump gw\.example\.com.*move tls\.json/)
})

t.test('a clock that was never set makes certificates that hold now, and again once it is set', async (t) => {
  const { clock, open } = house(t, 5000)
  const authority = await open()
  await authority.renew()
  const root = new X509Certificate(authority.rootCertificate())
  t.ok(root.validFromDate.getTime() < AT && root.validToDate.getTime() > AT, 'the root holds at the right time')
  t.ok(leafOf(authority).validFromDate.getTime() < AT && leafOf(authority).validToDate.getTime() > AT)
  clock.stepEpoch(AT + 400 * DAY_MS)
  await authority.renew()
  t.ok(leafOf(authority).validToDate.getTime() > clock.epochMs())
  t.equal(authority.view().rootFingerprint, root.fingerprint256, 'who trusts the root goes on doing so')
})

t.test('a clock that was ahead and is set back makes another certificate', async (t) => {
  const { clock, open } = house(t)
  const authority = await open()
  clock.stepEpoch(3000 * DAY_MS)
  await authority.renew()
  clock.stepEpoch(-3000 * DAY_MS)
  await authority.renew()
  t.ok(leafOf(authority).validFromDate.getTime() < AT)
})

t.test('the root gets a later end with the same key, so that who trusts the old one goes on', async (t) => {
  const { clock, open } = house(t)
  const authority = await open()
  await authority.renew()
  const before = new X509Certificate(authority.rootCertificate())
  clock.stepEpoch(3000 * DAY_MS)
  await authority.renew()
  const after = new X509Certificate(authority.rootCertificate())
  t.ok(after.validToDate.getTime() > before.validToDate.getTime())
  t.equal(after.subject, before.subject)
  t.equal(leafOf(authority).checkIssued(before), true)
  t.equal(leafOf(authority).verify(before.publicKey), true)
})

t.test('what cannot be saved is not used, and is tried again', async (t) => {
  const { clock, folder, machine, open, written } = house(t)
  const authority = await open()
  const timer = await authority.keepRenewed(1000)
  const kept = authority.identity()
  const file = readFileSync(join(folder, 'tls.json'), 'utf8')
  machine.addresses = ['10.9.9.9']
  // A folder in the place of the unfinished file: it cannot be written.
  mkdirSync(join(folder, 'tls.json.tmp', 'x'), { recursive: true })
  await t.rejects(authority.renew(), { code: 'store_write_failed' })
  t.equal(authority.identity(), kept)
  t.equal(readFileSync(join(folder, 'tls.json'), 'utf8'), file)
  clock.advance(1000)
  await authority.renew().catch(() => {})
  t.ok(written.some((line) => line.includes('certificate not renewed')))
  rmSync(join(folder, 'tls.json.tmp'), { recursive: true })
  await authority.renew()
  t.not(authority.identity(), kept)
  timer.cancel()
})

t.test('a damaged file is refused, with what to do and without a secret', async (t) => {
  const { folder, open } = house(t)
  const authority = await open()
  await authority.renew()
  const path = join(folder, 'tls.json')
  const record = JSON.parse(readFileSync(path, 'utf8'))
  for (const damage of [{ root: { ...record.root, key: 'hush' } }, { leaf: { key: 'hush', certificate: 'hush' } }]) {
    for (const name of [path, `${path}.bak`]) writeFileSync(name, JSON.stringify({ ...record, ...damage }))
    await t.rejects(open(), { code: 'store_damaged', message: /plantroom restore/ })
    const said = await open().catch((fault) => fault.message)
    t.notMatch(said, 'hush')
  }
})

t.test('no key is ever logged', async (t) => {
  const { folder, machine, open, written } = house(t)
  const authority = await open()
  await authority.renew()
  machine.names = ['other']
  await authority.renew()
  const { root, leaf } = JSON.parse(readFileSync(join(folder, 'tls.json'), 'utf8'))
  t.ok(written.length > 0)
  for (const { key } of [root, leaf])
    for (const line of key.split('\n').filter((part: string) => part.length > 20 && !part.startsWith('-')))
      t.notOk(written.some((text) => text.includes(line)))
})

t.test('the machine goes by its own name, those of the settings, and its addresses', async (t) => {
  const { names, addresses } = machineNames({ listen: '192.0.2.9:443', hosts: ['gw.example.com'] })
  t.ok(names.includes(hostname()))
  t.ok(names.includes(`${hostname().split('.')[0]}.local`))
  t.ok(names.includes('gw.example.com'))
  t.ok(addresses.includes('192.0.2.9'))
  t.notOk(machineNames({ listen: '0.0.0.0:1', hosts: [] }).addresses.includes('0.0.0.0'))
})

t.test('an authority for whom nobody asks makes no root; what could not be opened is tried again', async (t) => {
  const { clock, folder, machine } = house(t)
  const options = { clock, log: silentLog, product: 'Test gateway', machine: () => machine }
  const late = lateAuthority({ ...options, folder })
  t.equal(late.opened(), undefined)
  t.notOk(existsSync(join(folder, 'tls.json')))
  const [one, other] = await Promise.all([late.open(), late.open()])
  t.equal(one, other, 'opened once')
  t.equal(late.opened(), one)
  const nowhere = join(folder, 'none')
  writeFileSync(nowhere, 'a file, not a folder')
  const lost = lateAuthority({ ...options, folder: nowhere })
  await t.rejects(lost.open())
  t.equal(lost.opened(), undefined)
  rmSync(nowhere)
  mkdirSync(nowhere)
  t.ok((await lost.open()).rootCertificate())
})
