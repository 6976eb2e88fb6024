/** Tests of release/apply-handed.ts and release-file.ts: a release that somebody has carried here. */
import { existsSync, linkSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { settleUpdate } from '../../release/apply.ts'
import { applyHanded } from '../../release/apply-handed.ts'
import type { ReleaseRecord } from '../../release/record.ts'
import { MOST_HEAD_BYTES, readReleaseHead, writeReleaseHead } from '../../release/release-file.ts'
import type { UpdateHooks } from '../../release/switch.ts'
import { type Published, publish, publisher, readState, stageMachine, startedVersion } from './update-stage.ts'

const people = publisher()

function fileOf({ container, offer }: Published): Buffer {
  const release = Buffer.from(String(offer.release), 'base64').toString()
  return Buffer.concat([writeReleaseHead({ encryptionKey: String(offer.encryption_key), release }), container])
}

/** A machine without an update server. @param trusted null: no root is pinned */
function staged(t: Test, trusted: typeof people | null = people) {
  const folder = t.testdir()
  const machine = stageMachine(folder, '', trusted ?? undefined)
  const file = join(folder, 'upload.release')
  const begun: number[] = []
  const parts = (hooks: Partial<UpdateHooks> = {}) => ({
    ...machine.parts({ settings: { handed_file: file }, hooks }),
    onBegun: (at: number) => void begun.push(at),
  })
  const apply = (bytes: Uint8Array) => {
    writeFileSync(file, bytes)
    return applyHanded(parts())
  }
  return { ...machine, apply, begun, file, parts }
}

t.test('3A.update.upload a release file is proven, unpacked, put in place and watched, without a server', async (t) => {
  const { apply, begun, calls, root, state } = staged(t)
  t.same(await apply(fileOf(publish(people, '1.1.0'))), { outcome: 'applied', version: '1.1.0', from: '1.0.0' })
  t.equal(await startedVersion(root), '1.1.0')
  t.same(calls, ['backup', 'restart 1.1.0'])
  t.equal(begun.length, 1)
  t.same(readdirSync(state).sort(), ['history.json', 'trust'], 'nothing else is left')
  t.match(readState(state, 'trust/seen.json'), { trust: { sequence: 5 } })
})

t.test(
  '3A.update.upload what is not newer, not signed, for others or not whole is refused before it has begun',
  async (t) => {
    const { apply, begun, calls, root, state } = staged(t)
    const good = fileOf(publish(people, '1.1.0'))
    const of = (version: string, change: Partial<ReleaseRecord> = {}) => fileOf(publish(people, version, { change }))
    const other = Buffer.from(good)
    const keyAt = good.indexOf('"encryption_key"') + 25
    other[keyAt] = good[keyAt] === 0x30 ? 0x31 : 0x30
    const refused: [string, Uint8Array, string][] = [
      ['older', of('0.9.0', { sequence: 9 }), 'update_older'],
      ['the same', of('1.0.0'), 'update_older'],
      ['a stranger', fileOf(publish(publisher(), '1.1.0')), 'release_untrusted'],
      ['too old', of('1.1.0', { expires: Date.now() - 10, issued_at: Date.now() - 20 }), 'release_expired'],
      ['another machine', of('1.1.0', { arch: 'arm64' }), 'release_wrong_arch'],
      ['too far', of('1.2.0', { min_from: '1.1.0' }), 'release_too_far'],
      ['cut', good.subarray(0, good.length - 1), 'release_file_cut'],
      ['longer', Buffer.concat([good, Buffer.from('x')]), 'release_file_cut'],
      ['its head alone', good.subarray(0, 100), 'release_file_cut'],
      ['no release', Buffer.from('PK\x03\x04'), 'release_file_unknown'],
      ['no end of the head', Buffer.concat([good.subarray(0, 40), Buffer.alloc(40_000, 97)]), 'release_file_unknown'],
      ['nothing', Buffer.alloc(0), 'release_file_cut'],
    ]
    for (const [what, bytes, code] of refused) await t.rejects(apply(bytes), { code }, what)
    t.same([begun, calls], [[], []])
    // The record is good, and what follows it is not: the copy is proven by the checksum, and the key is not signed.
    const damaged = Buffer.from(good)
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1
    await t.rejects(apply(damaged), { code: 'update_wrong_checksum' })
    await t.rejects(apply(other), { code: 'container_wrong_key' })
    t.equal(await startedVersion(root), '1.0.0')
    t.same(await apply(good), { outcome: 'applied', version: '1.1.0', from: '1.0.0' }, 'the good one is still taken')
    await t.rejects(apply(of('1.2.0', { sequence: 4 })), { code: 'release_replayed' })
    t.notOk(existsSync(join(state, 'handed.part')))
  },
)

t.test('3A.update.upload without a pinned root nothing is taken by hand', async (t) => {
  const { apply, root } = staged(t, null)
  await t.rejects(apply(fileOf(publish(people, '1.1.0'))), { code: 'update_no_root' })
  t.equal(await startedVersion(root), '1.0.0')
})

t.test('3A.update.upload a link, a pipe or a second name in the place of the file is not read', async (t) => {
  const { file, parts, root } = staged(t)
  const elsewhere = `${file}.elsewhere`
  writeFileSync(elsewhere, fileOf(publish(people, '1.1.0')))
  const put: [string, () => void, string][] = [
    ['a link', () => symlinkSync(elsewhere, file), 'update_file_foreign'],
    ['a second name', () => linkSync(elsewhere, file), 'update_file_foreign'],
    ['a folder', () => mkdirSync(file), 'update_file_foreign'],
    ['nothing', () => {}, 'update_no_file'],
  ]
  for (const [what, make, code] of put) {
    make()
    await t.rejects(applyHanded(parts()), { code }, what)
    rmSync(file, { recursive: true, force: true })
  }
  t.equal(await startedVersion(root), '1.0.0')
})

t.test(
  '3A.update.upload the file may be changed or removed once it has begun: what was opened is copied and proven',
  async (t) => {
    const { file, parts, root } = staged(t)
    writeFileSync(file, fileOf(publish(people, '1.1.0')))
    const outcome = await applyHanded({ ...parts(), onBegun: () => rmSync(file) })
    t.match(outcome, { outcome: 'applied' })
    writeFileSync(file, fileOf(publish(people, '1.2.0')))
    const overwritten = { ...parts(), onBegun: () => writeFileSync(file, fileOf(publish(publisher(), '9.9.9'))) }
    await t.rejects(applyHanded(overwritten), { code: 'update_wrong_checksum' })
    t.equal(await startedVersion(root), '1.1.0')
  },
)

t.test('3A.update.upload a release that is not well is taken back, and not taken again', async (t) => {
  const { file, parts, root } = staged(t)
  writeFileSync(file, fileOf(publish(people, '1.1.0')))
  const sick = { health: async () => ({ state: 'dead' as const, why: 'gateway has ended', upMs: null }) }
  t.match(await applyHanded(parts(sick)), { outcome: 'rolled_back', reason: 'gateway has ended' })
  await t.rejects(applyHanded(parts()), { code: 'update_taken_back' })
  t.equal(await startedVersion(root), '1.0.0')
})

t.test('3A.update.upload what a cut left of the copy is gone at the next start', async (t) => {
  const { file, parts, state } = staged(t)
  writeFileSync(file, fileOf(publish(people, '1.1.0')))
  writeFileSync(join(state, 'handed.part'), 'half')
  t.equal(await settleUpdate(parts()), undefined)
  t.notOk(existsSync(join(state, 'handed.part')))
})

t.test('the head of a release file is read as it comes, and never beyond its bound', (t) => {
  const { offer } = publish(people, '1.1.0')
  const release = Buffer.from(String(offer.release), 'base64').toString()
  const head = writeReleaseHead({ encryptionKey: String(offer.encryption_key), release })
  for (const length of [0, 1, 19, 20, 21, head.length - 1])
    t.equal(readReleaseHead(head.subarray(0, length)), undefined)
  t.match(readReleaseHead(Buffer.concat([head, Buffer.alloc(10)])), {
    headBytes: head.length,
    signed: { version: '1.1.0' },
  })
  t.ok(head.length < MOST_HEAD_BYTES / 2)
  t.throws(() => readReleaseHead(Buffer.from('PLANTROOM RELEASE 1\n{}\n')), { code: 'release_file_unknown' })
  t.throws(() => readReleaseHead(Buffer.from('PLANTROOM RELEASE 1\n{"a\n')), { code: 'release_file_unknown' })
  t.end()
})
