import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readPrivateKey, readPublicKeys, signBytes, signerOf } from '../../auth/signing-key.ts'

const text = new TextEncoder().encode('what is signed')

function rig(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'keys-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const pair = (name: string) => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    writeFileSync(join(folder, `${name}.pem`), publicKey.export({ type: 'spki', format: 'pem' }))
    writeFileSync(join(folder, `${name}.key`), privateKey.export({ type: 'pkcs8', format: 'pem' }))
    return { file: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) }
  }
  return { folder, pair }
}

t.test('keys of files and folders are read, and the signer is named', async (t) => {
  const { folder, pair } = rig(t)
  const [one, other] = [pair('one'), pair('other')]
  const signature = signBytes(await readPrivateKey(other.key), text)
  t.equal(signature.length, 64)
  const keys = await readPublicKeys([folder])
  t.same(
    keys.map(({ file }) => file),
    [one.file, other.file],
    'only *.pem of a folder',
  )
  t.equal(signerOf(keys, text, signature)?.file, other.file)
  t.equal(signerOf(await readPublicKeys([one.file]), text, signature), undefined)
  t.equal(signerOf(keys, text.subarray(1), signature), undefined)
  t.equal(signerOf(keys, text, signature.subarray(1)), undefined)
  t.equal(signerOf(keys, text, new Uint8Array(64)), undefined)
})

t.test('a missing file or folder gives no key', async (t) => {
  t.same(await readPublicKeys(['/nonexistent/keys', '/nonexistent/key.pem']), [])
})

t.test('a file that is not an Ed25519 key is an error, not skipped', async (t) => {
  const { folder, pair } = rig(t)
  pair('good')
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ type: 'spki', format: 'pem' })
  for (const content of ['', 'no key', 'x'.repeat(100_000), rsa]) {
    writeFileSync(join(folder, 'bad.pem'), content)
    await t.rejects(readPublicKeys([folder]), { code: 'bad_key', message: /bad\.pem/ })
  }
  await t.rejects(readPrivateKey(join(folder, 'good.pem')), { code: 'bad_key' }, 'a public key signs nothing')
  await t.rejects(readPrivateKey(join(folder, 'absent')), { code: 'bad_key' })
})

t.test('a folder with more keys than anybody has is a mistake', async (t) => {
  const { folder } = rig(t)
  mkdirSync(join(folder, 'many'))
  for (let n = 0; n < 65; n++) writeFileSync(join(folder, 'many', `${n}.pem`), '')
  await t.rejects(readPublicKeys([join(folder, 'many')]), { code: 'bad_key', message: /65 keys, at most 64/ })
})
