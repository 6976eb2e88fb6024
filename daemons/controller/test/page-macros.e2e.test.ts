/** The macro editor of the built controller in a real browser, by keyboard: edited, tried out, run, and its trace. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { countIs, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { openRestSite, type PageCall, type RestSite } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

interface Stage extends Rig {
  site: RestSite
  /** The same person in another browser. */
  other: PageCall
}

const NASTY = '<img src=x onerror=alert(1)>'

t.test('macros on the page', { skip: noBrowser }, async (t) => {
  const site = await openRestSite(t)
  const rig = await openRig(t, site.url(), { pictures: 'controller', wanted: /400/ })
  await rig.page.getByLabel('User name').fill('ada')
  await rig.page.getByLabel('Password').fill(PASSWORD)
  await rig.page.keyboard.press('Enter')
  await rig.page.getByText('Signed in as').waitFor()
  await play<Stage>(t, { ...rig, site, other: await site.pageOf('ada') }, [
    ['the list says what each macro is, and opens by keyboard', listed],
    ['a macro is made of steps by keyboard alone, and kept for Apply all', made],
    ['a dry run says what would be sent, and sends nothing', dryRun],
    ['what is wrong with a step is told at its field, which has the focus', refused],
    ['steps are put in order and removed, and a removal is taken back', ordered],
    ['branches and JSON are edited in their places', branches],
    ['once applied it runs, and its trace says when, how long and how', traced],
    ['a run compares with this version', replayed],
    ['of two editors the second is told', twoEditors],
    ['what a macro is called is shown as text', nasty],
    ['a long name without spaces stays on the page, and turns no other text around', longNamed],
  ])
})

const step = (page: Page, place: string): Locator =>
  page.locator('.step-item', { has: page.getByRole('button', { name: new RegExp(`^(Fault )?${place} `) }) }).last()

async function keys(page: Page, first: string, second: string): Promise<void> {
  await page.locator('#main').focus()
  await page.keyboard.press(first)
  await page.keyboard.press(second)
}

/** Adds a step of a kind and stays in its first field. */
async function add(page: Page, within: Locator | Page, kind: string): Promise<void> {
  const adding = within.locator('.add-step').last()
  await adding.getByLabel('Kind of step').selectOption({ label: kind })
  await adding.getByRole('button', { name: 'Add step' }).focus()
  await page.keyboard.press('Enter')
}

async function listed(t: Test, { page, audit }: Stage): Promise<void> {
  await keys(page, 'g', 'm')
  await page.getByRole('link', { name: 'Close down' }).waitFor()
  await page.locator('.verdict', { hasText: 'All 3 macros can run' }).waitFor()
  await audit(t, 'macros')
  await page.keyboard.press('ArrowDown')
  t.equal(await page.evaluate('document.activeElement.textContent'), 'Anywhere')
}

async function made(t: Test, { page, audit }: Stage): Promise<void> {
  await page.keyboard.press('n')
  await page.getByRole('heading', { name: 'New macro' }).waitFor()
  await until('the name has the focus', async () => {
    return (await page.evaluate("document.activeElement.getAttribute('name')")) === 'name'
  })
  await page.keyboard.type('Evening')
  await page.locator('#main').focus()
  await page.keyboard.press('n')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await until('the kind of the new step has the focus', async () => {
    return /\.type$/.test(String(await page.evaluate("document.activeElement.getAttribute('name')")))
  })
  for (const text of ['', 'Lamp']) {
    await page.keyboard.press('Tab')
    if (text !== '') await page.keyboard.type(text)
  }
  await page.keyboard.press('Tab')
  await step(page, '1').getByText('Known here: on, off, level').waitFor()
  await page.keyboard.type('level')
  await step(page, '1').getByLabel('Argument').first().waitFor()
  await step(page, '1').getByLabel('Value').fill('${args.level}')
  await add(page, page, 'Pause')
  await step(page, '2').getByLabel('How long').fill('20')
  await add(page, page, 'Command')
  await step(page, '3').getByLabel('Zone').fill('Hall')
  await step(page, '3').getByLabel('Command', { exact: true }).fill('on')
  await page.getByRole('button', { name: /^1 Lamp: level \$\{args\.level\}/ }).waitFor()
  await audit(t, 'macro-editor')
  await page.getByRole('button', { name: 'Keep change' }).focus()
  await page.keyboard.press('Enter')
  await page.locator('.toast', { hasText: 'Kept. It takes effect with Apply all.' }).waitFor()
  await page.getByRole('heading', { name: 'Evening' }).waitFor()
  await page.getByText('What is edited here waits for Apply all.').waitFor()
  t.notMatch(page.url(), /new$/)
}

async function dryRun(t: Test, { page, site, audit }: Stage): Promise<void> {
  const panel = page.getByRole('form', { name: 'Dry run' })
  await panel.getByLabel('level').fill('30')
  await page.locator('#main').focus()
  await page.keyboard.press('s')
  await panel.getByText('It would send 2 orders. It would end as done after').waitFor()
  await panel.locator('.sent li', { hasText: 'Lamp: level 30' }).waitFor()
  await panel.locator('.sent li', { hasText: 'Hall: on' }).waitFor()
  await panel.getByText('Each step').click()
  await countIs(panel.locator('.trace li'), 3)
  await audit(t, 'macro-dry-run')
  t.same(site.lines, [])
  await countIs(panel.getByRole('button', { name: 'Run now' }), 0, 'it is not applied yet')
}

async function refused(_t: Test, { page }: Stage): Promise<void> {
  await add(page, page, 'Wait until')
  await step(page, '4').getByLabel('Attribute').last().fill('mode')
  await step(page, '4').getByLabel('With').fill('night')
  await page.getByRole('button', { name: 'Keep change' }).click()
  const field = page.locator('.field[data-s="fault"]', { hasText: 'Wait at most' })
  await field.getByText('Step 4 has no timeout_ms in its args.').waitFor()
  await until('it has the focus', async () => {
    return /\.timeout_ms$/.test(String(await page.evaluate("document.activeElement.getAttribute('name')")))
  })
  await step(page, '4').getByLabel('Wait at most').fill('5000')
  await countIs(page.locator('.field[data-s="fault"]'), 0, 'gone with the mistake')
}

async function ordered(_t: Test, { page }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Move step 4 up' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: /^3 wait until mode is night/ }).waitFor()
  await page.getByRole('button', { name: 'Remove step 3' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('Step 3 is removed.').waitFor()
  await countIs(page.locator('.step-item'), 3)
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('button', { name: /^3 wait until mode is night/ }).waitFor()
  await page.getByRole('button', { name: 'Remove step 3' }).click()
  await page.getByRole('button', { name: /^3 Hall: on/ }).waitFor()
}

async function branches(t: Test, { page, other }: Stage): Promise<void> {
  await add(page, page, 'At the same time')
  const branch = page.getByRole('group', { name: 'Branch 2' })
  await add(page, branch, 'Notify')
  await branch.getByLabel('Text').fill('Good evening')
  await add(page, page.getByRole('group', { name: 'Branch 1' }), 'Pause')
  await page.getByRole('group', { name: 'Branch 1' }).getByLabel('How long').fill('5')
  await step(page, '1').getByRole('button', { name: /^1 / }).click()
  await step(page, '1').getByRole('button', { name: 'Edit as JSON' }).click()
  const json = step(page, '1').getByLabel('Args of this step')
  await json.fill('{"level": ')
  await page.getByRole('button', { name: 'Keep change' }).click()
  await page.locator('.field[data-s="fault"]', { hasText: 'This is not JSON' }).waitFor()
  await json.fill('{"level": "${args.level}"}')
  await step(page, '1').getByRole('button', { name: 'Edit in fields' }).click()
  await page.getByRole('button', { name: /^1 Lamp: level \$\{args\.level\}/ }).waitFor()
  await page.getByRole('button', { name: 'Keep change' }).click()
  await page.locator('.toast', { hasText: 'Kept.' }).waitFor()
  const { macros } = (await other('GET', '/ui/macros')).body
  const { id } = macros.find(({ name }: { name: string }) => name === 'Evening')
  t.match((await other('GET', `/ui/macros/open?id=${id}`)).body, {
    steps: [
      { type: 'command', zone_id: 4, command: 'level', args: { level: '${args.level}' } },
      { type: 'delay', args: { ms: 20 } },
      { type: 'command', zone_id: 1, command: 'on' },
      { type: 'parallel', args: { steps: [[{ args: { ms: 5 } }], [{ args: { text: 'Good evening' } }]] } },
    ],
  })
}

async function traced(t: Test, { page, site, audit }: Stage): Promise<void> {
  t.equal((await site.applyAll()).status, 200)
  await page.getByText('In force as it is shown.').waitFor()
  const panel = page.getByRole('form', { name: 'Dry run' })
  await panel.getByLabel('level').fill('30')
  await panel.getByRole('button', { name: 'Run now' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click()
  await page.locator('.verdict', { hasText: 'It is done, after' }).waitFor()
  await page.getByText('Called with {"level":30}.').waitFor()
  const lines = page.locator('.trace li')
  t.match(await lines.nth(0).textContent(), /Lamp: level 30/)
  t.match(await lines.nth(0).textContent(), /Done after/)
  t.match(await lines.nth(2).textContent(), /Hall: on/)
  t.equal(await lines.count(), 6)
  await until('the line has come', () => site.lines.length > 0)
  t.same(site.lines, ['Z1 on {}'])
  await audit(t, 'macro-run')
}

async function replayed(t: Test, { page }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Compare with this version' }).click()
  await page.getByText('This version decides every step as it was decided then.').waitFor()
  await page.getByRole('link', { name: 'Runs', exact: true }).click()
  await page.getByRole('heading', { name: 'Runs of Evening' }).waitFor()
  t.match(await page.locator('.rows tbody tr').first().textContent(), /done, by ada/)
}

async function twoEditors(t: Test, { page, other }: Stage): Promise<void> {
  await page.getByRole('link', { name: 'Steps', exact: true }).click()
  await page.getByRole('button', { name: /^2 pause/ }).click()
  await step(page, '2').getByLabel('How long').fill('40')
  const { macros } = (await other('GET', '/ui/macros')).body
  const { id } = macros.find(({ name }: { name: string }) => name === 'Evening')
  const { macro, steps } = (await other('GET', `/ui/macros/open?id=${id}`)).body
  const theirs = { id, values: {}, steps: steps.slice(0, 2), seen: { values: macro.values, steps } }
  t.match(await other('POST', '/ui/macros/save', theirs), { status: 200 })
  await page.getByRole('button', { name: 'Keep change' }).click()
  await page.getByText('Somebody else has changed the steps of this macro meanwhile.').waitFor()
  t.same((await other('GET', `/ui/macros/open?id=${id}`)).body.steps.length, 2, 'theirs stays')
}

async function nasty(t: Test, { page, other }: Stage): Promise<void> {
  const steps = [{ type: 'notify', args: { text: NASTY } }]
  const saved = await other('POST', '/ui/macros/save', { values: { name: NASTY, mode: 'single' }, steps })
  t.equal(saved.status, 200)
  await page.reload()
  await keys(page, 'g', 'm')
  await page.getByRole('link', { name: NASTY }).click()
  await page.getByRole('heading', { name: NASTY }).waitFor()
  await countIs(page.locator('img'), 0)
}

async function longNamed(t: Test, { page, other, site, audit, visit }: Stage): Promise<void> {
  const name = `\u202e${'W'.repeat(150)}`
  const text = 'X'.repeat(300)
  const values = { name, mode: 'single', description: text }
  const steps = [
    { type: 'notify', args: { text } },
    { type: 'stop', args: { reason: text, failed: true } },
  ]
  const saved = await other('POST', '/ui/macros/save', { values, steps })
  t.equal(saved.status, 200)
  const id = String((saved.body as { macro_id: number }).macro_id)
  t.equal((await site.applyAll()).status, 200)
  const ran = await other('POST', '/ui/macro', { macro_id: Number(id), args: { said: text } })
  const run = String((ran.body as { run_id: number }).run_id)
  await visit('macros')
  await page.reload()
  await page.getByRole('link', { name: 'WWW' }).waitFor()
  await audit(t, 'macros-long', 'unpictured')
  await visit('macros', id)
  await page.getByRole('form', { name: 'Dry run' }).waitFor()
  await audit(t, 'macro-long', 'unpictured')
  await visit('macros', id, 'runs')
  await page.getByRole('heading', { name: 'Runs of' }).waitFor()
  await audit(t, 'macro-runs-long', 'unpictured')
  await visit('macros', id, 'runs', run)
  await page.locator('.trace li').nth(1).waitFor()
  t.match(await page.locator('h1').textContent(), /^\ufffdW+, \d\d:\d\d$/)
  await audit(t, 'macro-run-long', 'unpictured')
}
