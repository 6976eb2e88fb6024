import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Condition } from '#kit/records/ledger-entry.ts'
import { GRACE_MS, Licence, PENDING_MS } from '../../../core/licence/licence.ts'
import type { LicenceAnswer, LicenceServer } from '../../../core/licence/ports.ts'
import { type LicenceEvent, licenceStates, licenceStateTable } from '../../../core/licence/states.ts'
import { openLicenceFile, openProof } from '../../../io/licence-files.ts'
import { type Vendor, vendorIn } from '../../vendor.ts'

const DAY_MS = 86_400_000
const START = 1_900_000_000_000

interface StageParts {
  folder: string
  vendor: Vendor
  clock?: ReturnType<typeof fakeClock>
  answer?: (act: string) => LicenceAnswer
}

/** A recorder that is started; again on the same folder for a restart. */
async function stage({ answer, clock = fakeClock(START), folder, vendor }: StageParts) {
  const { file, installation } = await openLicenceFile({ clock, folder, log: silentLog })
  const told = { states: [] as string[], saves: 0, asked: [] as string[], trouble: undefined as Condition | undefined }
  const server: LicenceServer = {
    async ask(act) {
      told.asked.push(act)
      if (!answer) throw new Fault('license_server_failed', 'away')
      return answer(act)
    },
  }
  const licence = new Licence({
    ...{ clock, chance: () => 1, installation, proof: await openProof(vendor.keyFile, silentLog), server },
    file: {
      record: file.record,
      async save(record) {
        told.saves++
        await file.save(record)
      },
    },
    limits: { renewMs: 12 * 3_600_000, retry: { firstMs: 60_000, maxMs: 6 * 3_600_000 }, clockSaveMs: 3_600_000 },
    conditions: {
      raise(condition) {
        told.trouble = condition
      },
      clear() {
        told.trouble = undefined
      },
      happened() {},
    },
    ...{ cameras: () => 1, version: '1.0.0', onChange: (state) => told.states.push(state) },
  })
  licence.start()
  /** What the server answered is taken, and what is to be saved is on the disk. */
  async function settle(): Promise<void> {
    for (let turns = 0; turns < 3; turns++) {
      await setImmediate()
      await licence.importLease(null).catch(() => {}) // in turn behind all of that
    }
  }

  async function days(count: number): Promise<void> {
    for (let quarters = 4 * count; quarters > 0; quarters--) {
      clock.advance(DAY_MS / 4)
      await settle()
    }
  }
  await settle()
  return { clock, days, installation, licence, told }
}

const stateOf = (licence: Licence) => licence.view().state

t.test('3A.license.states each event leads where the table says, row by row', async (t) => {
  const always: [LicenceEvent, string][] = [
    ['trialTaken', 'trial'],
    ['leaseTaken', 'licensed'],
    ['givenUp', 'unlicensed'],
    ['withdrawn', 'unlicensed'],
    ['suspendedThere', 'suspended'],
    ['revokedThere', 'revoked'],
  ]
  const own: Record<string, [LicenceEvent, string][]> = {
    pending: [['pendingRanOut', 'unlicensed']],
    trial: [
      ['leaseRanOut', 'grace'],
      ['trialEnded', 'unlicensed'],
    ],
    licensed: [
      ['leaseRanOut', 'grace'],
      ['termEnded', 'expired'],
    ],
    grace: [
      ['graceRanOut', 'unlicensed'],
      ['termEnded', 'expired'],
      ['trialEnded', 'unlicensed'],
    ],
  }
  for (const state of licenceStates)
    t.same(licenceStateTable[state], Object.fromEntries([...always, ...(own[state] ?? [])]), state)
})

t.test('3A.license.pending a new installation has everything for 14 days, and then nothing new', async (t) => {
  const folder = t.testdir({})
  const { days, licence, told } = await stage({ folder, vendor: vendorIn(folder) })
  t.match(licence.view(), { state: 'pending', features: ['ai', 'recognition', 'investigation', 'mqtt'], cameras: null })
  t.equal(licence.details().pendingUntil, START + PENDING_MS)
  t.equal(told.trouble, undefined)
  await days(13)
  t.equal(stateOf(licence), 'pending')
  await days(1)
  t.match(licence.view(), { state: 'unlicensed', features: [], cameras: 0 })
  t.same(told.states, ['unlicensed'])
  t.match(told.trouble, { what: 'license_lacking', sentence: /Recording, cameras and features that are on go on/ })
  const refusal = { code: 'license_feature', details: { code: 'license_feature', feature: 'mqtt' } }
  t.throws(() => licence.requireFeature('mqtt'), refusal)
})

t.test(
  '3A.license.grace a year without a server: licensed, grace, unlicensed, and the first lease ends it',
  async (t) => {
    const folder = t.testdir({})
    const vendor = vendorIn(folder)
    const { clock, days, installation, licence, told } = await stage({ folder, vendor })
    await licence.importLease(vendor.lease(installation, START))
    t.match(licence.view(), { state: 'licensed', features: ['mqtt'], cameras: 2 })
    t.match(licence.details(), { isOffline: true, lease: { expiresAt: START + 30 * DAY_MS } })
    licence.requireFeature('mqtt')
    await days(30)
    t.equal(stateOf(licence), 'grace')
    t.equal(licence.details().graceUntil, START + 30 * DAY_MS + GRACE_MS)
    licence.requireFeature('mqtt')
    await days(14)
    t.equal(stateOf(licence), 'unlicensed')
    t.ok(told.saves < 44 * 25, `${told.saves} saves in 44 days`)
    clock.stepEpoch(321 * DAY_MS)
    await days(1)
    t.same(told.states, ['licensed', 'grace', 'unlicensed'])
    await licence.importLease(vendor.lease(installation, clock.epochMs()))
    t.equal(stateOf(licence), 'licensed')
    t.equal(told.trouble, undefined)
  },
)

t.test('a machine that was off for a year finds everything that ended meanwhile', async (t) => {
  const folder = t.testdir({})
  const vendor = vendorIn(folder)
  const first = await stage({ folder, vendor })
  await first.licence.importLease(vendor.lease(first.installation, START))
  await first.licence.stop()
  const later = await stage({ folder, vendor, clock: fakeClock(START + 365 * DAY_MS) })
  t.same(later.told.states, ['grace', 'unlicensed'])
  t.equal(later.installation.installationId, first.installation.installationId)
  t.equal(later.installation.keyId, first.installation.keyId)
})

t.test('3A.license.clock a clock that is set back prolongs nothing, also over a restart', async (t) => {
  const folder = t.testdir({})
  const vendor = vendorIn(folder)
  const { clock, days, installation, licence } = await stage({ folder, vendor })
  await licence.importLease(vendor.lease(installation, START))
  await days(29)
  clock.stepEpoch(-365 * DAY_MS)
  await days(1)
  t.equal(stateOf(licence), 'grace', 'what has passed counts')
  await licence.stop()
  const again = await stage({ folder, vendor, clock: fakeClock(START) })
  t.equal(stateOf(again.licence), 'grace')
  await again.days(14)
  t.equal(stateOf(again.licence), 'unlicensed', 'it goes on from there')
  await again.licence.importLease(vendor.lease(installation, START + 3 * DAY_MS))
  t.equal(stateOf(again.licence), 'licensed', 'a lease says what time it was: a clock that was ahead shuts nobody out')
})

t.test('a lease that is not ours, not newest or not signed is refused, and changes nothing', async (t) => {
  const folder = t.testdir({ other: {} })
  const vendor = vendorIn(folder)
  const stranger = vendorIn(join(folder, 'other'))
  const { installation, licence } = await stage({ folder, vendor })
  const first = vendor.lease(installation, START)
  const second = vendor.lease(installation, START, { limits: { cameras: null } })
  await licence.importLease(second)
  await licence.importLease(second)
  const { signed } = second
  const thief = generateKeyPairSync('ed25519').privateKey
  const refused: [string, unknown, RegExp][] = [
    ['another installation', vendor.lease({ ...installation, installationId: 'a'.repeat(32) }, START), /is for inst/],
    ['another key', vendor.lease({ ...installation, keyId: 'b'.repeat(32) }, START), /another key/],
    ['a lower serial', first, /number 1, and number 2 was taken/],
    ['the same serial', vendor.lease(installation, START, { serial: 2 }), /number 2, and number 2/],
    ['another vendor', stranger.lease(installation, START, { serial: 9 }), /not signed by the vendor/],
    ['a key of a thief', vendor.signed('lease', { ...signed, serial: 9 }, thief), /not signed by the vendor/],
    ['another text', { ...second, signed: { ...signed, serial: 9 } }, /not signed by the vendor/],
    ['another kind', vendor.signed('licence-notice', { ...signed, serial: 9 }), /not signed by the vendor/],
    ['a field more', vendor.signed('lease', { ...signed, more: 1 }), /cannot be read/],
    ['nothing', null, /cannot be read|no signed text/],
    ['too much', vendor.signed('lease', { ...signed, customer: 'x'.repeat(20_000) }), /cannot be read/],
  ]
  for (const [what, lease, message] of refused)
    await t.rejects(licence.importLease(lease), { code: 'license_bad_lease', message }, what)
  t.match(licence.view(), { state: 'licensed', cameras: null })
})

t.test(
  '3A.license.server a lease is renewed by itself, and the server may suspend, revoke and give back',
  async (t) => {
    const folder = t.testdir({})
    const vendor = vendorIn(folder)
    let say: () => LicenceAnswer = () => ({})
    const { clock, days, installation, licence, told } = await stage({ folder, vendor, answer: () => say() })
    const trial = () => ({ lease: vendor.lease(installation, clock.epochMs(), { kind: 'trial' as const }) })
    say = trial
    clock.advance(60_000)
    await days(1)
    t.equal(stateOf(licence), 'trial')
    const askedFirst = told.asked.length
    await days(10)
    t.ok(told.asked.length - askedFirst >= 10, 'each half day, or sooner')
    t.ok(told.asked.length - askedFirst <= 40)
    const suspended = vendor.notice(installation, clock.epochMs())
    say = () => ({ notice: suspended })
    await licence.refresh()
    t.match(licence.view(), { state: 'suspended', features: [], cameras: 0 })
    t.equal(licence.details().reason, 'The invoice is open.')
    await licence.refresh()
    t.equal(stateOf(licence), 'suspended', 'the same word again')
    say = () => ({ notice: vendor.notice(installation, clock.epochMs(), { state: 'revoked' }) })
    await licence.refresh()
    t.equal(stateOf(licence), 'revoked')
    say = () => ({ notice: suspended })
    await t.rejects(licence.refresh(), { code: 'license_bad_lease' }, 'an older word is none')
    say = () => ({ lease: vendor.lease(installation, clock.epochMs(), { termEnd: clock.epochMs() + 5 * DAY_MS }) })
    await licence.activate('KEY', false)
    t.equal(stateOf(licence), 'licensed')
    say = () => ({})
    await days(5)
    t.equal(stateOf(licence), 'expired', 'the term ends before its lease')
    say = trial
    await licence.deactivate()
    const asked = told.asked.length
    await days(3)
    t.equal(stateOf(licence), 'unlicensed')
    t.equal(told.asked.length, asked, 'what was given up is not asked for again')
    await licence.refresh()
    t.equal(stateOf(licence), 'trial')
  },
)

t.test('a server that is away is asked ever more rarely, and giving up works without it', async (t) => {
  const folder = t.testdir({})
  const { days, licence, told } = await stage({ folder, vendor: vendorIn(folder) })
  await days(10)
  t.ok(told.asked.length >= 10 && told.asked.length <= 60, `${told.asked.length} times in ten days`)
  await t.rejects(licence.refresh(), { code: 'license_server_failed' })
  await licence.deactivate()
  t.match(licence.details().reason, /was not told/)
  t.equal(stateOf(licence), 'unlicensed')
})

t.test('a damaged file, another key or a missing one of the vendor keep no recorder from starting', async (t) => {
  const folder = t.testdir({ other: {} })
  const vendor = vendorIn(folder)
  const { installation, licence } = await stage({ folder, vendor })
  const lease = vendor.lease(installation, START)
  await licence.importLease(lease)
  await licence.stop()
  const path = join(folder, 'license.json')
  t.notMatch(readFileSync(path, 'utf8'), /PRIVATE KEY/, 'it is sealed')
  const other = await stage({ folder, vendor: vendorIn(join(folder, 'other')) })
  t.equal(stateOf(other.licence), 'unlicensed')
  await other.licence.stop()
  const back = await stage({ folder, vendor })
  await back.licence.importLease(lease)
  t.equal(stateOf(back.licence), 'licensed', 'the lease is not used up')
  await back.licence.stop()
  const none = await stage({ folder, vendor: { ...vendor, keyFile: join(folder, 'none.pem') } })
  await t.rejects(none.licence.importLease(lease), { message: /license.vendor_key_file/ })
  await none.licence.stop()
  for (const text of ['{', '[]', JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), sealedKey: 'AAAA' })]) {
    writeFileSync(path, text)
    writeFileSync(`${path}.bak`, text)
    const fresh = await stage({ folder, vendor })
    t.equal(stateOf(fresh.licence), 'pending')
    await fresh.licence.stop()
  }
})
