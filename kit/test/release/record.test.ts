/** Tests of kit/release/record.ts, root.ts and signed.ts: which releases a machine takes, and which roots it follows. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import fc from 'fast-check'
import { t } from 'tap'
import { Fault } from '../../pure/fault.ts'
import {
  followRelease,
  type Machine,
  pinRoot,
  proveRelease,
  type ReleaseRecord,
  readRelease,
  type Trust,
  writeRelease,
} from '../../release/record.ts'
import { MOST_ROOT_BYTES, proveRoot, type Root, readRoot, type SignedRoot, signRoot } from '../../release/root.ts'
import { publicKeyOf, textOfSigned } from '../../release/signed.ts'
import { holds } from '../holds.ts'

const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS
const NOW = Date.UTC(2026, 10, 27)

const newKey = () => generateKeyPairSync('ed25519').privateKey
const [rootA, rootB, rootC, rootD, rootE] = [newKey(), newKey(), newKey(), newKey(), newKey()]
const [releaseKey, nextReleaseKey, strangerKey] = [newKey(), newKey(), newKey()]
const named = (...keys: KeyObject[]) => keys.map(publicKeyOf).sort()

function rootOf(change: Partial<Root> = {}): Root {
  return {
    ...{ version: 1, root_keys: named(rootA, rootB, rootC), threshold: 2, release_keys: named(releaseKey) },
    ...{ min_sequence: 1, issued_at: NOW - 30 * DAY_MS, expires: NOW + 3 * YEAR_MS },
    ...change,
  }
}

const first = signRoot(rootOf(), [rootA, rootB])

function recordOf(change: Partial<ReleaseRecord> = {}): ReleaseRecord {
  return {
    ...{ version: '1.4.0', sequence: 7, min_from: null, arch: null, size: 1000, sha256: 'a'.repeat(64) },
    ...{ bundle: 'b'.repeat(64), security_fix: false, issued_at: NOW - DAY_MS, expires: NOW + YEAR_MS },
    ...change,
  }
}

const written = (change: Partial<ReleaseRecord> = {}, keys = [releaseKey], roots: SignedRoot[] = [first]) =>
  writeRelease('update', recordOf(change), { keys, roots })
const machine: Machine = { arch: 'amd64', version: '1.3.0', nowAt: NOW }
const pinned: Trust = { ...pinRoot(first), sequence: 7 }

/** What a machine does with a text: it follows its roots, then judges it. */
function offered(text: string, trust = pinned, its: Partial<Machine> = {}): Trust | undefined {
  const release = readRelease(Buffer.from(text))
  return proveRelease(followRelease(trust, release), 'update', release, { ...machine, ...its })
}

t.test('a signed release is taken, and its sequence and time are remembered', async (t) => {
  const trust = offered(written({ sequence: 9, issued_at: NOW - 5 }))
  t.strictSame(trust, { root: first.signed, sequence: 9, signedAt: NOW - 5 })
  t.ok(
    offered(written(), trust === undefined ? pinned : { ...trust, sequence: 7 }),
    'the same sequence is no older one',
  )
})

// Another spelling of the same release.
const respelled = (change: (text: string) => string) => change(written({}, [releaseKey], []))
const resigned = (signed: object, kind = 'update') => {
  const text = Buffer.from(`plantroom ${kind} 1\n${JSON.stringify(signed)}`)
  const signatures = [{ key: publicKeyOf(releaseKey), sig: sign(null, text, releaseKey).toString('base64') }]
  return textOfSigned({ roots: [], signatures, signed })
}
const sorted = Object.fromEntries(Object.entries(recordOf()).sort())

const refused: readonly (readonly [how: string, code: string, text: string, its?: Partial<Machine>, trust?: Trust])[] =
  [
    ['it was replayed', 'release_replayed', written({ sequence: 6 })],
    ['it has expired', 'release_expired', written({ expires: NOW })],
    [
      'it has expired by the time that was signed, and the clock is behind',
      'release_expired',
      written({ issued_at: NOW - 9, expires: NOW - 1 }),
      { nowAt: 0 },
      { ...pinned, signedAt: NOW },
    ],
    [
      'it has expired by the time that was signed, and there is no clock',
      'release_expired',
      written({ issued_at: NOW - 9, expires: NOW - 1 }),
      { nowAt: undefined },
      { ...pinned, signedAt: NOW },
    ],
    ['the root has expired', 'root_expired', written(), { nowAt: NOW + 4 * YEAR_MS }],
    ['a stranger signed it', 'release_untrusted', written({}, [strangerKey])],
    ['a root key signed it', 'release_untrusted', written({}, [rootA])],
    [
      'what is signed was changed',
      'release_untrusted',
      respelled((text) => text.replace('"sequence":7', '"sequence":8')),
    ],
    [
      'its signature is of another record',
      'release_untrusted',
      respelled((text) => text.replace(/"sig":"[^"]{20}/, (sig) => `${sig.slice(0, 7)}${'A'.repeat(20)}`)),
    ],
    [
      'it is signed as an installer',
      'release_untrusted',
      writeRelease('installer', recordOf(), { keys: [releaseKey], roots: [] }),
    ],
    ['it is signed without its kind', 'release_untrusted', resigned(sorted, 'root')],
    ['it is for other machines', 'release_wrong_arch', written({ arch: 'arm64' })],
    ['a version between is needed', 'release_too_far', written({ min_from: '1.3.1' })],
    [
      'a version between is needed by a prerelease',
      'release_too_far',
      written({ min_from: '1.3.0' }),
      { version: '1.3.0-rc.1' },
    ],
    [
      'its keys are in another order',
      'release_malformed',
      respelled((text) => text.replace(/("arch":null),("bundle":"\w+")/, '$2,$1')),
    ],
    [
      'a key is there twice',
      'release_malformed',
      respelled((text) => text.replace('"sequence":7', '"sequence":9,"sequence":7')),
    ],
    [
      'a key is there twice, spelled otherwise',
      'release_malformed',
      respelled((text) => text.replace('"sequence":7', '"sequence":7,"\\u0073equence":9')),
    ],
    [
      'there is another field',
      'release_malformed',
      respelled((text) => text.replace('"sequence":7', '"sequence":7,"size_":1')),
    ],
    [
      'there is a field of another kind beside it',
      'release_malformed',
      respelled((text) => text.replace('{"roots"', '{"a":1,"roots"')),
    ],
    [
      'there is a prototype in it',
      'release_malformed',
      respelled((text) => text.replace('{"roots"', '{"__proto__":{},"roots"')),
    ],
    ['a field is missing', 'release_malformed', respelled((text) => text.replace('"arch":null,', ''))],
    ['there are blanks in it', 'release_malformed', respelled((text) => text.replace('"sequence":7', '"sequence": 7'))],
    [
      'a number is written otherwise',
      'release_malformed',
      respelled((text) => text.replace('"sequence":7', '"sequence":7e0')),
    ],
    ['a number is no whole one', 'release_malformed', resigned({ ...sorted, sequence: 7.5 })],
    ['a letter is written otherwise', 'release_malformed', respelled((text) => text.replace('1.4.0', '1.4.\\u0030'))],
    ['its last line does not end', 'release_malformed', respelled((text) => text.trimEnd())],
    ['something follows', 'release_malformed', respelled((text) => `${text}\n`)],
    ['it begins with a byte order mark', 'release_malformed', `\ufeff${written()}`],
    ['it has no signature', 'release_malformed', textOfSigned({ roots: [], signatures: [], signed: recordOf() })],
    ['its version is none', 'release_malformed', written({ version: '1.4' })],
    ['its version leads elsewhere', 'release_malformed', written({ version: '1.4.0/../x' })],
    ['its least version is none', 'release_malformed', written({ min_from: 'v1.0.0' })],
    ['its machine is unheard of', 'release_malformed', written({ arch: 'x64' as 'amd64' })],
    ['its hash is none', 'release_malformed', written({ sha256: 'A'.repeat(64) })],
    ['it expires before it is issued', 'release_malformed', written({ issued_at: NOW, expires: NOW })],
    ['it is a list', 'release_malformed', '[]\n'],
    ['it is empty', 'release_malformed', ''],
    ['it is no JSON', 'release_malformed', '{"signed":'],
    ['it is no UTF-8', 'release_malformed', 'x\xff'],
    ['it is too large', 'release_malformed', ' '.repeat(8193)],
  ]

t.test('a release is refused when', async (t) => {
  for (const [how, code, text, its, trust] of refused) t.throws(() => offered(text, trust, its), { code }, how)
})

t.test('a clock that is wrong makes no good release expired', async (t) => {
  const clocks: readonly (readonly [how: string, nowAt: number | undefined])[] = [
    ['it begins in 1970', 0],
    ['it is a year behind', NOW - YEAR_MS],
    ['it is not known to be right', undefined],
  ]
  for (const [how, nowAt] of clocks) t.equal(offered(written(), pinned, { nowAt })?.signedAt, NOW - DAY_MS, how)
})

t.test('the latest signed time is kept, whichever release comes later', async (t) => {
  t.equal(offered(written({ sequence: 8, issued_at: NOW - 9 * DAY_MS }), { ...pinned, signedAt: NOW })?.signedAt, NOW)
})

t.test('what is unsigned is refused once a root is pinned, and taken before', async (t) => {
  t.throws(() => proveRelease(pinned, 'update', undefined, machine), { code: 'release_unsigned' })
  t.equal(proveRelease(undefined, 'update', undefined, machine), undefined)
})

t.test('without a root nothing is proven, and what a release is not for it still does not get', async (t) => {
  const judged = (text: string) => proveRelease(undefined, 'update', readRelease(Buffer.from(text)), machine)
  t.equal(judged(written({}, [strangerKey])), undefined)
  t.throws(() => judged(written({ arch: 'arm64' })), { code: 'release_wrong_arch' })
  t.throws(() => judged(written({ min_from: '2.0.0' })), { code: 'release_too_far' })
})

t.test('a signature by one of two release keys is enough', async (t) => {
  const two = signRoot(rootOf({ release_keys: named(releaseKey, nextReleaseKey) }), [rootB, rootC])
  for (const key of [releaseKey, nextReleaseKey]) t.ok(offered(written({}, [key], []), pinRoot(two)))
})

// Roots.

const second = signRoot(rootOf({ version: 2, release_keys: named(nextReleaseKey), min_sequence: 8 }), [rootA, rootC])
const newRoots = rootOf({
  version: 3,
  root_keys: named(rootC, rootD, rootE),
  release_keys: named(nextReleaseKey),
  min_sequence: 8,
})
const third = signRoot(newRoots, [rootA, rootC, rootD])

t.test('a machine follows to a root that the old and the new keys signed', async (t) => {
  const trust = offered(written({ sequence: 8 }, [nextReleaseKey], [first, second, third]))
  t.equal(trust?.root.version, 3)
  t.same(trust?.root.root_keys, named(rootC, rootD, rootE))
  t.equal(offered(written({ sequence: 8 }, [nextReleaseKey], [second]))?.root.version, 2)
})

t.test('a stolen release key is of no use once the root has taken it away', async (t) => {
  const release = readRelease(Buffer.from(written({ sequence: 99 }, [releaseKey], [first, second])))
  const trust = followRelease(pinned, release)
  t.throws(() => proveRelease(trust, 'update', release, machine), { code: 'release_untrusted' })
  t.throws(() => offered(written({ sequence: 99 }, [releaseKey], []), trust), { code: 'release_untrusted' })
})

t.test('what a thief signed last shuts nobody out: a root that takes his key away begins anew', async (t) => {
  const poisoned = offered(written({ sequence: Number.MAX_SAFE_INTEGER, issued_at: NOW + 2 * YEAR_MS, expires: 8e15 }))
  t.throws(() => offered(written({ sequence: 8 }), poisoned), { code: /release_(replayed|expired)/ })
  const trust = offered(written({ sequence: 8 }, [nextReleaseKey], [second]), poisoned)
  t.match(trust, { sequence: 8, signedAt: NOW - DAY_MS })
  t.throws(() => offered(written({ sequence: 7 }, [nextReleaseKey], [second]), poisoned), { code: 'release_replayed' })
})

t.test('a root that only adds a release key forgets nothing', async (t) => {
  const more = signRoot(rootOf({ version: 2, release_keys: named(releaseKey, nextReleaseKey) }), [rootA, rootB])
  t.throws(() => offered(written({ sequence: 6 }, [nextReleaseKey], [more])), { code: 'release_replayed' })
})

const badRoots: readonly (readonly [how: string, code: string, next: SignedRoot])[] = [
  ['one of two old keys signed', 'root_untrusted', signRoot(newRootsOf(2), [rootC, rootD])],
  ['one of two new keys signed', 'root_untrusted', signRoot(newRootsOf(2), [rootA, rootC])],
  ['new keys alone signed', 'root_untrusted', signRoot(newRootsOf(2), [rootD, rootE])],
  ['one key signed twice', 'root_untrusted', signRoot(rootOf({ version: 2 }), [rootA, rootA])],
  ['one key signed alone', 'root_untrusted', signRoot(rootOf({ version: 2 }), [rootA])],
  ['strangers signed', 'root_untrusted', signRoot(rootOf({ version: 2 }), [strangerKey, rootE])],
  ['the release key signed too', 'root_untrusted', signRoot(rootOf({ version: 2 }), [rootA, releaseKey])],
  ['it was changed', 'root_untrusted', { ...second, signed: { ...second.signed, threshold: 1 } }],
  ['a version between is missing', 'root_missing', third],
  [
    'it names a key twice',
    'root_untrusted',
    signRoot(rootOf({ version: 2, root_keys: named(rootA, rootA, rootB) }), [rootA, rootB]),
  ],
  [
    'it names keys in another order',
    'root_untrusted',
    signRoot(rootOf({ version: 2, root_keys: named(rootA, rootB).reverse() }), [rootA, rootB]),
  ],
  [
    'a root key is a release key',
    'root_untrusted',
    signRoot(rootOf({ version: 2, release_keys: named(rootC) }), [rootA, rootB]),
  ],
  [
    'it wants more signatures than it has keys',
    'root_untrusted',
    signRoot(rootOf({ version: 2, threshold: 4 }), [rootA, rootB, rootC]),
  ],
  [
    'it expires before it is issued',
    'root_untrusted',
    signRoot(rootOf({ version: 2, expires: 5, issued_at: 5 }), [rootA, rootB]),
  ],
]

function newRootsOf(version: number): Root {
  return rootOf({ version, root_keys: named(rootC, rootD, rootE) })
}

t.test('a root is not followed when', async (t) => {
  for (const [how, code, next] of badRoots) t.throws(() => offered(written({}, [releaseKey], [next])), { code }, how)
})

t.test('roots up to the one trusted are passed over, and one of the same version changes nothing', async (t) => {
  const other = signRoot(rootOf({ release_keys: named(strangerKey) }), [rootA, rootB])
  const trust = followRelease(pinned, readRelease(Buffer.from(written({}, [releaseKey], [other]))))
  t.equal(trust, pinned)
})

t.test('an expired root is followed to the next', async (t) => {
  const old = signRoot(rootOf({ issued_at: 0, expires: NOW - 9 }), [rootA, rootB])
  t.throws(() => offered(written({}, [releaseKey], []), pinRoot(old)), { code: 'root_expired' })
  t.equal(offered(written({ sequence: 8 }, [nextReleaseKey], [second]), pinRoot(old))?.root.version, 2)
})

t.test('a root is pinned only if it is signed as it says itself', async (t) => {
  t.throws(() => pinRoot(signRoot(rootOf(), [rootA])), {
    code: 'root_untrusted',
    message: /1 of its own keys, expected 2/,
  })
  t.strictSame(pinRoot(signRoot(rootOf({ min_sequence: 5 }), [rootA, rootC])).sequence, 5)
})

t.test('a root has one text, and no key has two names', async (t) => {
  const text = textOfSigned(first)
  t.strictSame(readRoot(Buffer.from(text)), first)
  t.throws(() => readRoot(Buffer.from(JSON.stringify(first, null, 2))), { code: 'release_malformed' })
  // The last sign has two bits that belong to no byte.
  const [key = ''] = first.signed.root_keys
  const alias = `${key.slice(0, 42)}${String.fromCharCode(key.charCodeAt(42) + 1)}=`
  t.ok(Buffer.from(alias, 'base64').equals(Buffer.from(key, 'base64')))
  t.throws(() => readRoot(Buffer.from(text.replaceAll(key, alias))), { code: 'release_malformed' })
})

t.test('the largest root fits its bound, and four usual ones fit a release', async (t) => {
  const keys = Array.from({ length: 16 }, newKey)
  const largest = rootOf({ root_keys: named(...keys.slice(0, 8)), release_keys: named(...keys.slice(8)), threshold: 8 })
  t.ok(textOfSigned(signRoot(largest, [...keys.slice(0, 8), rootA, rootB])).length <= MOST_ROOT_BYTES)
  t.equal(proveRoot(signRoot(largest, keys.slice(0, 8))).threshold, 8)
  const roots = [1, 2, 3, 4].map((version) => signRoot(newRootsOf(version), [rootA, rootB, rootD, rootE]))
  t.ok(Buffer.from(written({}, [releaseKey], roots)).toString('base64').length < 8192)
})

t.test('a release changed anywhere is refused with a fault', async (t) => {
  const text = written({}, [releaseKey], [])
  const law = fc.property(
    fc.nat(text.length - 1),
    fc.integer({ min: 32, max: 126 }),
    fc.nat(2),
    (at, value, removed) => {
      const changed = text.slice(0, at) + String.fromCharCode(value) + text.slice(at + removed)
      try {
        offered(changed)
        return changed === text
      } catch (error) {
        return error instanceof Fault && /^(release|root)_/.test(error.code)
      }
    },
  )
  holds(t, law, { numRuns: 400 })
})
