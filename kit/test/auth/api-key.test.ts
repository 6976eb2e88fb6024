/** Tests of auth/credentials.ts. */
import t from 'tap'
import { bearerOf, isSecretOf, looksLikeApiKey, makeApiKey, parseApiKey } from '../../auth/credentials.ts'

t.test('makes keys that parse as keys, fit a header, and are never the same twice', async (t) => {
  const keys = Array.from({ length: 100 }, makeApiKey)
  for (const { id, text } of keys) {
    t.equal(parseApiKey(text)?.id, id)
    t.equal(bearerOf(`Bearer ${text}`), text)
    t.equal(looksLikeApiKey(text), true)
  }
  t.equal(new Set(keys.map(({ text }) => text)).size, 100)
})

t.test('keeps nothing from which the secret could be read', async (t) => {
  const { text, secretHash } = makeApiKey()
  const secret = parseApiKey(text)?.secret ?? ''
  t.equal(secret.length, 43)
  t.notOk(secretHash.includes(secret))
})

t.test('only the exact secret is right, and nothing is right for a key that does not exist', async (t) => {
  const { text, secretHash } = makeApiKey()
  const secret = parseApiKey(text)?.secret ?? ''
  t.equal(isSecretOf(secret, secretHash), true)
  t.equal(isSecretOf(secret, makeApiKey().secretHash), false)
  t.equal(isSecretOf(secret, undefined), false)
  for (let at = 0; at < secret.length - 1; at++) {
    const other = secret[at] === 'A' ? 'B' : 'A'
    t.equal(isSecretOf(secret.slice(0, at) + other + secret.slice(at + 1), secretHash), false)
  }
})

t.test('accepts nothing else as a key', async (t) => {
  const { text } = makeApiKey()
  for (const bad of ['', 'plk_', text.slice(0, -1), `${text}x`, ` ${text}`, `${text}\n`, text.toUpperCase()])
    t.equal(parseApiKey(bad), undefined, JSON.stringify(bad))
})
