/** Tests of kit/release/manifest.ts: one list of files has one text, and nothing hostile is one. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { t } from 'tap'
import { Fault } from '../../pure/fault.ts'
import {
  bundleHash,
  type ManifestEntry,
  MOST_FILES,
  MOST_MANIFEST_BYTES,
  manifestText,
  readManifest,
} from '../../release/manifest.ts'
import { holds } from '../holds.ts'

const A = 'a'.repeat(64)
const B = '0123456789abcdef'.repeat(4)
const read = (text: string) => readManifest(Buffer.from(text, 'latin1'))

t.test('a manifest is sorted by path, and its hash is the SHA-256 of its text', async (t) => {
  const entries = [
    { path: 'web/index.html', mode: 0o644, sha256: A },
    { path: 'plantroom', mode: 0o755, sha256: B },
    { path: 'web-old/x', mode: 0o644, sha256: A },
  ]
  const text = manifestText(entries)
  t.equal(text, `plantroom 755 ${B}\nweb-old/x 644 ${A}\nweb/index.html 644 ${A}\n`)
  t.strictSame(read(text), [entries[1], entries[2], entries[0]])
  t.equal(bundleHash(text), createHash('sha256').update(text).digest('hex'))
  t.equal(manifestText([...entries].reverse()), text)
})

const line = (path: string, mode = '644', sha256 = A) => `${path} ${mode} ${sha256}\n`

const hostile: readonly (readonly [how: string, text: string])[] = [
  ['it is empty', ''],
  ['its last line is cut', line('a').slice(0, -1)],
  ['a line is empty', `${line('a')}\n${line('b')}`],
  ['lines end as on Windows', line('a').replace('\n', '\r\n')],
  ['a path is absolute', line('/etc/passwd')],
  ['a path leads out', line('../x')],
  ['a path leads out further down', line('a/../../x')],
  ['a path stays where it is', line('a/./b')],
  ['a path has an empty part', line('a//b')],
  ['a path ends with a slash', line('a/')],
  ['a file is hidden', line('.npmrc')],
  ['a file is hidden further down', line('a/.npmrc')],
  ['a path has a backslash', line('a\\b')],
  ['a path has a blank', line('a b')],
  ['a path has a tab', line('a\tb')],
  ['a path has a zero', line('a\0b')],
  ['a path has a control character', line('a\x1b[2Jb')],
  ['a path has a letter beyond ASCII', line('\xfc')],
  ['a path is empty', line('')],
  ['a path is too long', line('x'.repeat(201))],
  ['it lists itself', line('MANIFEST')],
  ['a file is there twice', line('a') + line('a')],
  ['a file is there twice, with other bytes', line('a') + line('a', '755', B)],
  ['it is not sorted', line('b') + line('a')],
  ['a file is a folder too', line('a') + line('a-') + line('a/b')],
  ['a file has the setuid bit', line('a', '4755')],
  ['a mode is written out', line('a', '0644')],
  ['everybody may write a file', line('a', '666')],
  ['a mode is a word', line('a', 'rwx')],
  ['a hash is short', line('a', '644', A.slice(1))],
  ['a hash is in capitals', line('a', '644', A.toUpperCase())],
  ['there is more in a line', line('a').replace('\n', ' more\n')],
  ['there are two blanks', line('a ')],
  ['a blank ends a line', line('a').replace('\n', ' \n')],
  ['it begins with a byte order mark', `\xef\xbb\xbf${line('a')}`],
  [
    'it lists too many files',
    Array.from({ length: MOST_FILES + 1 }, (_, at) => line(String(at).padStart(6, '0'))).join(''),
  ],
  ['it is too large', 'x'.repeat(MOST_MANIFEST_BYTES + 1)],
]

t.test('a manifest is refused when', async (t) => {
  for (const [how, text] of hostile) t.throws(() => read(text), { code: 'bad_manifest' }, how)
  t.throws(() => read(line('a') + line('b', '600')), { message: /line 2/ })
})

t.test('a manifest that would be refused is not written', async (t) => {
  for (const path of ['../x', '/x', 'a b', 'MANIFEST'])
    t.throws(() => manifestText([{ path, mode: 0o644, sha256: A }]), { code: 'bad_manifest' }, path)
  t.throws(() => manifestText([{ path: 'a', mode: 0o4755, sha256: A }]), { code: 'bad_manifest' })
  t.throws(() => manifestText([]), { code: 'bad_manifest' })
})

const part = fc.stringMatching(/^[a-z0-9_@+-][a-z0-9._@+-]{0,8}$/)
const entry: fc.Arbitrary<ManifestEntry> = fc.record({
  path: fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => `d/${parts.join('/')}/f.F`),
  mode: fc.constantFrom(0o644, 0o755),
  sha256: fc.stringMatching(/^[0-9a-f]{64}$/),
})

t.test('what is written is read, in one text whatever the order was', async (t) => {
  const entries = fc.uniqueArray(entry, { selector: ({ path }) => path, minLength: 1, maxLength: 20 })
  const law = fc.property(entries, (list) => {
    const text = manifestText(list)
    return (
      manifestText(read(text)) === text &&
      manifestText([...list].reverse()) === text &&
      read(text).length === list.length
    )
  })
  holds(t, law)
})

t.test('a text changed anywhere is refused, or another list with another hash', async (t) => {
  const text = line('a/b', '755', B) + line('c') + line('d/e.f', '644', B)
  const law = fc.property(
    fc.nat(text.length - 1),
    fc.integer({ min: 0, max: 255 }),
    fc.nat(2),
    (at, value, removed) => {
      const changed = text.slice(0, at) + String.fromCharCode(value) + text.slice(at + removed)
      try {
        return changed === text || manifestText(read(changed)) === changed
      } catch (error) {
        return error instanceof Fault && error.code === 'bad_manifest'
      }
    },
  )
  holds(t, law, { numRuns: 2000 })
})
