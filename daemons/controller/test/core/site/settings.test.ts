/** Tests of core/site/registry.ts. */
import { t } from 'tap'
import type { Json } from '../../../core/json.ts'
import { createBook } from '../../../core/site/book.ts'
import { settingOf } from '../../../core/site/registry.ts'

function said(settings: Record<string, Json>) {
  const book = createBook()
  book.replace(
    'setting',
    Object.entries(settings).map(([key, value], index) => ({ id: index + 1, key, value })),
  )
  return settingOf(book)
}

t.test('1 Configuration keys a setting that nobody set has its default', async (t) => {
  t.same(said({}), {
    api_token_life: 3_600_000,
    api_2fa_ttl_seconds: 300,
    rest_api_enabled: true,
    reads_scoped_to_uis: false,
  })
})

t.test('1 Configuration keys the value of a row counts, as text too', async (t) => {
  const settings = said({ api_token_life: '1000', api_2fa_ttl_seconds: 60, rest_api_enabled: 'false' })
  t.same(settings, {
    api_token_life: 1000,
    api_2fa_ttl_seconds: 60,
    rest_api_enabled: false,
    reads_scoped_to_uis: false,
  })
})

t.test('a row with a value out of range, or not understood, gives the default', async (t) => {
  for (const value of ['0', '-1', '1e99', '0x10', 'soon', '', null, '99999999999999999999'])
    t.equal(said({ api_token_life: value }).api_token_life, 3_600_000, String(value))
  t.equal(said({ rest_api_enabled: 'maybe' }).rest_api_enabled, true)
  for (const off of ['no', 'off', 'False', '0']) t.equal(said({ rest_api_enabled: off }).rest_api_enabled, false, off)
})
