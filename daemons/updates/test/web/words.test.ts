/** What the panel says of installations and releases, without a browser: daemons/updates/web/words.ts and artifact-uploads.ts. */
import t from 'tap'
import type { Delivery, Installation, Release } from '../../web/api.ts'
import { whyNot } from '../../web/artifact-uploads.ts'
import { deltaSize } from '../../web/texts.ts'
import {
  agoText,
  bundleText,
  deliveryText,
  isSilent,
  judgeInstallations,
  judgeReleases,
  lastUpdate,
  nameOf,
  publishedAt,
  reachText,
  releaseState,
  shunned,
} from '../../web/words.ts'

const NOW = Date.UTC(2026, 10, 26, 11)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const when = { nowMs: NOW, zone: 'Europe/Amsterdam' }

const delivery = (more: Partial<Delivery>): Delivery => ({
  ...{
    version: '1.5.0',
    compatible: null,
    fetched_at: null,
    outcome: null,
    reported_at: null,
    step: null,
    reason: null,
  },
  ...more,
})

const installation = (more: Partial<Installation> = {}): Installation => ({
  ...{ id: '0123456789abcdef0123456789abcdef', state: 'enabled', name: null, channel: null, asked_channel: null },
  ...{ version: '1.4.0', build: null, arch: null, registered_at: NOW, registered_from: '10.0.0.7', last_seen_at: NOW },
  ...{ address: '10.0.0.7', compatible: null, offered: null, updates: [] },
  ...more,
})

const file = { filename: 'a', checksum: 'c', size: 10, bundle_hash: null, published_at: NOW, signed: true }
const release = (more: Partial<Release> = {}): Release => ({
  ...{ id: '1.5.0', version: '1.5.0', compatible: null, state: 'offered', channel: 'stable', percent: 100 },
  ...{ hold: false, min_from: null, arch: null },
  ...{ update: file, installer: null, deltas: [], fetched: 0, applied: 0, failed: 0 },
  ...more,
})

t.test('says when one was seen as people write it, and of old ones the date', async (t) => {
  t.equal(agoText(NOW + 5000, when), 'just now', 'clocks differ a little')
  t.equal(agoText(NOW - 59_000, when), 'just now')
  t.equal(agoText(NOW - 12 * MINUTE_MS, when), '12\u202fmin ago')
  t.equal(agoText(NOW - 50 * HOUR_MS, when), '2\u202fd ago')
  t.equal(agoText(NOW - 8 * 24 * HOUR_MS, when), '2026-11-18')
})

t.test('an enabled installation that asks no more is told from one that need not', async (t) => {
  const old = NOW - 73 * HOUR_MS
  t.ok(isSilent(installation({ last_seen_at: old }), NOW))
  t.notOk(isSilent(installation({ last_seen_at: old, state: 'disabled' }), NOW))
  t.notOk(isSilent(installation({ last_seen_at: NOW - 71 * HOUR_MS }), NOW))
})

t.test('one without a name goes by the beginning of its id', async (t) => {
  t.equal(nameOf(installation()), 'Unnamed 01234567')
  t.equal(nameOf(installation({ name: 'Roof' })), 'Roof')
})

t.test('says what came of an update, where it failed and why', async (t) => {
  const at = { reported_at: NOW - 2 * HOUR_MS }
  t.same(deliveryText(delivery({ fetched_at: NOW }), when), {
    lit: 'busy',
    text: '1.5.0 fetched just now, nothing reported yet',
  })
  t.same(deliveryText(delivery({ ...at, outcome: 'applied' }), when).lit, 'ok')
  t.same(deliveryText(delivery({ ...at, outcome: 'rolled_back', step: 'probe', reason: 'no answer' }), when), {
    lit: 'fault',
    text: '1.5.0 rolled back 2\u202fh ago, at probe: no answer',
  })
  t.same(deliveryText(delivery({ ...at, outcome: 'failed' }), when).text, '1.5.0 not applied 2\u202fh ago')
  const updates = [
    delivery({ outcome: 'rolled_back', ...at }),
    delivery({ version: '1.5.1', outcome: 'applied', ...at }),
  ]
  t.equal(lastUpdate(installation({ updates }), when)?.text, '1.5.1 applied 2\u202fh ago', 'the newest is last')
  t.equal(lastUpdate(installation(), when), undefined)
  t.same(shunned(installation({ updates })), ['1.5.0'])
})

t.test('the verdict of installations is about those that wait', async (t) => {
  const judged = judgeInstallations({ pending: 2, enabled: 40, disabled: 1 })
  t.match(judged, { lit: 'warn', sentence: '2 new installations wait to be enabled.' })
  t.match(judged.why, 'Already known: 40 enabled and 1 disabled.')
  t.match(judgeInstallations({ pending: 0, enabled: 40, disabled: 0 }), {
    lit: 'ok',
    sentence: '40 installations get updates from here.',
    why: '',
  })
  t.match(judgeInstallations({ pending: 0, enabled: 0, disabled: 0 }), { lit: 'off' })
})

t.test('the verdict of releases is the worst of them: halted, failed, held', async (t) => {
  const halted = release({ version: '1.6.0', state: 'halted' })
  const failing = release({ failed: 2, fetched: 5 })
  const held = release({ version: '1.4.0', hold: true })
  t.match(judgeReleases([halted, failing, held]), { lit: 'fault', sentence: /^1\.6\.0 is halted/ })
  t.match(judgeReleases([failing, held]), { lit: 'warn', sentence: '1.5.0 failed at 2 installations.' })
  t.match(judgeReleases([release(), held]), { lit: 'warn', sentence: 'Everybody is held at 1.4.0.' })
  t.match(judgeReleases([release({ percent: 25 })]), {
    lit: 'ok',
    sentence: '1.5.0 is offered to 25 % of the installations.',
    why: 'Fetched by nobody yet.',
  })
  t.match(judgeReleases([release({ channel: 'beta' })]), { lit: 'off' })
  t.match(judgeReleases([release({ state: 'withdrawn', failed: 1 })]), { lit: 'off' }, 'a withdrawn one fails nobody')
  t.match(judgeReleases([]), { lit: 'off', sentence: 'No update is published yet.' })
})

t.test('a release is in one state, and tells how far it has come', async (t) => {
  const states = [
    [release(), 'Offered'],
    [release({ percent: 25 }), 'Offered to 25 %'],
    [release({ percent: 0 }), 'Offered to nobody'],
    [release({ hold: true }), 'Held here'],
    [release({ update: null, installer: file }), 'Installer only'],
    [release({ state: 'withdrawn', hold: true }), 'Withdrawn'],
    [release({ state: 'halted' }), 'Halted'],
  ] as const
  for (const [one, text] of states) t.equal(releaseState(one).text, text)
  t.equal(reachText(release({ fetched: 12, applied: 10 })), 'fetched by 12, applied by 10')
  t.equal(reachText(release({ fetched: 3, applied: 1, failed: 1 })), 'fetched by 3, applied by 1, failed at 1')
  t.equal(publishedAt(release({ installer: { ...file, published_at: NOW - 1 } })), NOW - 1)
  t.same(bundleText(release()), { lit: 'warn', text: 'missing' })
  t.equal(bundleText(release({ update: { ...file, bundle_hash: 'ab'.repeat(32) } })).text, 'recorded, abababababab…')
})

t.test('a file that would be refused is not sent', async (t) => {
  t.equal(whyNot({ name: 'a.JSON', size: 10 }, 10), undefined)
  t.match(whyNot({ name: 'a.zip', size: 1 }, 10), 'a.zip is no .json file.')
  t.match(whyNot({ name: 'a.json', size: 11_000_000 }, 10_000_000), '11\u202fMB; at most 10\u202fMB')
  t.equal(whyNot({ name: 'a.json', size: 11_000_000 }, undefined), undefined, 'the server says it')
})

t.test('a tiny delta is shown as less than 1 % of its update', async (t) => {
  t.equal(deltaSize('288 B', 0.96), '288 B, less than 1 % of the update')
  t.equal(deltaSize('288 B', 1.4), '288 B, 1 % of the update')
  t.equal(deltaSize('1.2 MB', 4.6), '1.2 MB, 5 % of the update')
})
