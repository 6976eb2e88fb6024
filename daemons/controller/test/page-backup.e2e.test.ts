/** Backups on the page of the built controller, in a browser: saved, refused, checked, confirmed by name, taken back. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { AWAY, noBrowser, openRig } from '#kit/test/web/page-rig.ts'
import { openRestSite } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

t.test('a backup goes out and comes back by the page alone', { skip: noBrowser }, async (t) => {
  const folder = t.testdir({})
  const site = await openRestSite(t)
  const { audit, complaints, page, visit } = await openRig(t, site.url(), {
    pictures: 'controller',
    wanted: AWAY,
  })
  const panel = page.getByRole('region', { name: 'Backup' })
  async function signIn(): Promise<void> {
    await page.getByLabel('User name').fill('ada')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByText('Signed in as').waitFor()
    await visit('system')
  }
  const pick = (file: string) => page.getByLabel('Backup file').setInputFiles(file)
  await signIn()

  const saving = page.waitForEvent('download')
  await panel.getByRole('button', { name: 'Make and save a backup' }).click()
  const saved = await saving
  t.match(saved.suggestedFilename(), /^house-\d{4}-\d\d-\d\dT\d{4}\.plantroom\.tar\.gz$/)
  const file = join(folder, 'house.tar.gz')
  await saved.saveAs(file)
  await panel.getByText(/The backup of \d\d:\d\d is ready/).waitFor()
  await audit(t, 'backup-made', 'unpictured')

  const damaged = readFileSync(file)
  damaged[100] = (damaged[100] ?? 0) ^ 1
  writeFileSync(join(folder, 'damaged.tar.gz'), damaged)
  await pick(join(folder, 'damaged.tar.gz'))
  await panel.getByText('This file is not restored, and nothing was changed: it is damaged').waitFor()
  await audit(t, 'backup-refused', 'unpictured')

  await pick(file)
  await panel.getByText('The backup of House is whole and can be restored.').waitFor()
  await panel.getByText('6 zones, 18 people').waitFor()
  await audit(t, 'backup')
  await panel.getByRole('button', { name: 'Restore this backup' }).click()
  const confirm = page.getByRole('dialog').getByRole('button', { name: 'Restore the backup' })
  t.ok(await confirm.isDisabled(), 'not without the name')
  await page.getByLabel('Type House to go on').fill('house')
  t.ok(await confirm.isDisabled(), 'not with another name')
  await audit(t, 'backup-confirm', 'unpictured')
  await page.getByLabel('Type House to go on').fill('House')
  await page.keyboard.press('Enter')
  await panel.getByText('The controller restarts with it').waitFor()

  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
  await signIn()
  await panel.getByText(/ada restored the backup of/).waitFor()
  await panel.getByRole('button', { name: 'Put back what was there before' }).click()
  await page.getByRole('dialog').getByText('Take the restore of House back?').waitFor()
  await audit(t, 'backup-undo', 'unpictured')
  await page.getByRole('button', { name: 'Keep what is here' }).click()
  t.same(complaints, [])
})
