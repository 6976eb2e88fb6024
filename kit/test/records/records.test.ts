/** Tests of records.ts. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { journalTable } from '../../config/tables.ts'
import { withDefaults } from '../../http/check.ts'
import { type LedgerConfig, ledgerTable } from '../../records/ledger.ts'
import { openRecords } from '../../records/records.ts'

type Bounds = Parameters<typeof openRecords>[0]['config']['journal']

function defaultsOf(table: object): unknown {
  return withDefaults(JSON.parse(JSON.stringify(table)), {})
}

/** Records in a folder of their own. */
function opened(t: { teardown(run: () => void): void }, bounds: Partial<Bounds> = {}) {
  const stateFolder = mkdtempSync(join(tmpdir(), 'records-'))
  t.teardown(() => rmSync(stateFolder, { recursive: true }))
  const whole = { ...(defaultsOf(journalTable()) as Bounds), ...bounds }
  const config = { journal: whole, ledger: defaultsOf(ledgerTable()) as LedgerConfig }
  const open = () => openRecords({ stateFolder, clock: fakeClock(), log: silentLog, config })
  return {
    open,
    whats: (records: ReturnType<typeof open>) => records.journal.list({ limit: 1000 }).map(({ what }) => what),
  }
}

const asker = { caller: { name: 'admin' }, remoteAddress: '10.0.0.9' }

t.test('changes and refusals are there after a restart', async (t) => {
  const { open, whats } = opened(t)
  const records = open()
  await records.recorder.changed(asker, 'password set')
  const refusal = { group: 'a', who: 'nobody', from: '10.0.0.1', what: 'sign-in refused', detail: {} }
  for (let times = 0; times < 3; times++) records.refusals.add(refusal)
  await records.close()
  const again = open()
  t.same(whats(again), ['sign-in refused', 'sign-in refused', 'password set'])
  t.match(again.journal.list({ limit: 1 }), [{ detail: { times: 2 }, kind: 'refusal' }])
  await again.close()
})

t.test('however small the journal, guesses, sends and sign-ins do not fill it', async (t) => {
  const { open, whats } = opened(t, { entries: 16, sent: 500, sign_ins: 500 })
  const { recorder, close, ...records } = open()
  await recorder.changed(asker, 'changed')
  for (let times = 0; times < 40; times++) {
    await recorder.sent(asker, 'sent')
    await recorder.signedIn(asker, 'signed in')
  }
  const kept = whats({ ...records, recorder, close })
  t.same([kept.filter((what) => what === 'sent').length, kept.at(-1)], [8, 'changed'])
  await close()
})
