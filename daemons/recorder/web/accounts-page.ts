/** Accounts: who may sign in, what they see and may do; tokens of other systems; the own password. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Asked, doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy-and-save.ts'
import { choice, type Form, input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { age, dateOf, listed, many } from '#kit/web/numbers.ts'
import { Act, icon, type Judgement, say, toast, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { followRow } from '#kit/web/tools.ts'
import { type AccountBody, type AccountEntry, accountsApi, type Permission, type Role, type Token } from './api.ts'
import { cameras, isAdmin, me, signedIn } from './state.ts'
import * as texts from './texts.ts'

const LOOK_MS = 5000
const DAY_MS = 86_400_000
const LIVES: readonly (readonly [days: string, label: string])[] = [
  ['', texts.never],
  ['1', texts.inDay],
  ['7', texts.inDays(7)],
  ['30', texts.inDays(30)],
  ['365', texts.inDays(365)],
]

/** The page. @param what `new`, `account`, `token`, `password` or nothing; @param which the open account or token */
export function AccountsPage({ what, which }: { what?: string; which?: string }): VNode {
  if (!isAdmin.value)
    return html`<h1 class="sr">Account</h1>${verdict({ lit: 'off', sentence: texts.youAre(me.value?.username ?? '', texts.roleNames[me.value?.role ?? 'viewer']), why: texts.onlyAdministratorsSeeAccounts })}
      <div class="narrow"><${OwnPassword} /></div>`
  return html`<${Administration} what=${what} which=${which} />`
}

function Administration({ what, which }: { what?: string; which?: string }): VNode {
  const [accounts, setAccounts] = useState<AccountEntry[] | null>(null)
  const [tokens, setTokens] = useState<Token[] | null>(null)
  const { again, refused } = useLook(async () => {
    const [people, systems] = await Promise.all([accountsApi.list(), accountsApi.tokens()])
    setAccounts(people.toSorted((a, b) => a.username.localeCompare(b.username)))
    setTokens(systems.toSorted((a, b) => a.name.localeCompare(b.name)))
  }, LOOK_MS)
  useKeys(texts.accounts, [
    { key: 'n', what: texts.newAccountKey, run: () => goTo('accounts', 'new') as undefined },
    { key: 'k', what: texts.newTokenKey, run: () => goTo('accounts', 'token') as undefined },
  ])
  if (accounts === null || tokens === null)
    return html`<h1 class="sr">Accounts</h1><section class="panel">${refused === null ? say('busy', texts.askingAccounts, texts.usuallyBrief) : say('fault', texts.accountsNotRead, refused)}</section>`
  const form = formOf({ what, which, accounts, tokens, again })
  return html`<h1 class="sr">Accounts</h1>${verdict(judgeAccounts(accounts, tokens.length))}
    <div class=${form ? 'cols with-form' : ''}><div class="stack">
      <section class="panel" aria-label="Accounts"><header><h2 class="grow">Accounts</h2><div class="acts"><a class="btn" href=${linkTo('accounts', 'password')}>Own password</a>
        <a class=${form ? 'btn' : 'btn primary'} href=${linkTo('accounts', 'new')}>New account</a></div></header>${accountTable(accounts, which)}</section>
      <section class="panel" aria-label="Tokens"><header><h2>Tokens</h2><span class="faint grow">with which other systems call</span>
        <div class="acts"><a class="btn" href=${linkTo('accounts', 'token')}>New token</a></div></header>${tokenTable(tokens, again)}</section></div>${form}</div>`
}

function judgeAccounts(accounts: readonly AccountEntry[], tokens: number): Judgement {
  const admins = accounts.filter(({ role }) => role === 'administrator')
  const why = `${many(accounts.length, 'account')}, ${many(tokens, 'token')}.`
  const [only] = admins
  if (admins.length === 1 && only) return { lit: 'ok', sentence: texts.onlyAdministrator(only.username), why }
  return { lit: 'ok', sentence: texts.administrators(admins.length), why }
}

/** `all cameras`, `Front door and Yard`, `no camera`. */
function reachText({ cameras: own }: Pick<AccountEntry, 'cameras'>): string {
  if (own === 'all') return texts.allCameras
  const names = own.map((id) => cameras.value?.find((camera) => camera.id === id)?.name ?? id)
  return names.length === 0 ? texts.noCamera : listed(names)
}

/** `ends in 6 d`, or nothing. */
function lifeText(expiresAt: number | null): string {
  if (expiresAt === null) return ''
  const leftMs = expiresAt - daemonNow()
  return leftMs <= 0 ? texts.hasEnded(dateOf(expiresAt, zone.value)) : texts.endsIn(age(leftMs, 1))
}

function accountTable(accounts: readonly AccountEntry[], which?: string): Child {
  return html`<table class="table fold rows no-lit"><thead><tr><th>Name</th><th>Role</th><th>Sees, and may</th></tr></thead><tbody>${accounts.map(
    (account) => {
      const { id, isLastAdmin, isYou, permissions, role, username } = account
      const href = linkTo('accounts', 'account', id)
      const notes = [isYou && texts.you, isLastAdmin && texts.lastAdministrator, lifeText(account.expiresAt)].filter(
        Boolean,
      )
      return html`<tr key=${id} class=${id === which ? 'chosen' : ''} onClick=${(event: Event) => followRow(event, href)}>
        <td class="name"><a href=${href} aria-current=${id === which || undefined}><b>${username}</b></a>${notes.length > 0 ? html`<span class="under">${notes.join(', ')}</span>` : null}</td>
        <td class="when">${texts.roleNames[role]}</td><td class="setup">${[reachText(account), ...permissions.map((each) => texts.permissionNames[each])].join(', ')}</td></tr>`
    },
  )}</tbody></table>`
}

function tokenTable(tokens: readonly Token[], again: () => Promise<void>): Child {
  if (tokens.length === 0) return say('off', texts.noTokens, texts.whatTokensAre)
  return html`<table class="table fold rows no-lit"><thead><tr><th>Name</th><th>Of</th><th class="wide">Made</th><th>Ends</th><th><span class="sr">Revoke</span></th></tr></thead><tbody>${tokens.map(
    (
      token,
    ) => html`<tr key=${token.id}><td class="name"><b>${token.name}</b>${token.readOnly ? html`<span class="under">${texts.readsOnly}</span>` : null}</td>
      <td class="setup">${token.username}</td><td class="wide">${dateOf(token.createdAt, zone.value)}</td><td class="state">${lifeText(token.expiresAt) || texts.never}</td>
      <td class="n load"><${Revocation} token=${token} again=${again} /></td></tr>`,
  )}</tbody></table>`
}

interface Again {
  again: () => Promise<void>
}

function Revocation({ token: { id, name }, again }: { token: Token } & Again): VNode {
  const remove = () => doneOrSaid(() => accountsApi.revoke(id), toList(again), texts.tokenIsRevoked(name))
  return html`<${Asked} act="Revoke" label=${texts.revokeNamed(name)} title=${texts.revokeQuestion(name)} text=${texts.revokingMeans} sure="Revoke token" keep="Keep token" run=${remove} />`
}

/** Where the form of what is gone was is the list again. */
const toList = (again: () => Promise<void>) => () => again().then(() => goTo('accounts'))

interface FormFacts extends Again {
  what?: string
  which?: string
  accounts: AccountEntry[]
  tokens: Token[]
}

function formOf({ what, which, accounts, again }: FormFacts): VNode | null {
  if (what === 'password') return html`<${OwnPassword} isBeside=${true} />`
  if (what === 'new') return html`<${AccountForm} again=${again} key="new" />`
  if (what === 'token') return html`<${TokenForm} accounts=${accounts} again=${again} key="token" />`
  const account = what === 'account' ? accounts.find(({ id }) => id === which) : undefined
  return account ? html`<${AccountForm} account=${account} again=${again} key=${account.id} />` : null
}

function formHead(title: string): VNode {
  return html`<header><h2>${title}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('accounts')} aria-label="Close form">${icon('close')}</a></div></header>`
}

const ROLES = Object.entries(texts.roleNames) as [Role, string][]
const PERMISSIONS = Object.keys(texts.permissionNames) as Permission[]

/** Makes an account, or changes one: role, cameras, permissions, password. A password is only replaced, never shown. */
function AccountForm({ account, again }: { account?: AccountEntry } & Again): VNode {
  const own = account?.cameras ?? 'all'
  const ticks = (cameras.value ?? []).map(({ id }) => [`camera.${id}`, own !== 'all' && own.includes(id)] as const)
  const rights = PERMISSIONS.map((each) => [`may.${each}`, account?.permissions.includes(each) === true] as const)
  const form = useForm(
    {
      ...{
        username: account?.username ?? '',
        role: account?.role ?? 'viewer',
        password: '',
        isAll: own === 'all',
        life: '',
      },
      ...Object.fromEntries([...ticks, ...rights]),
    },
    account ? 'edit' : 'draft',
  )
  async function save(): Promise<void> {
    const body = bodyOf(form, account)
    if (account) await accountsApi.change(account.id, body)
    else await accountsApi.add(body)
    await again()
    toast(account ? texts.isChanged(account.username) : texts.accountIsAdded(String(form.values.value.username)))
    form.settle()
    goTo('accounts')
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  const { isAll, role } = form.values.value
  const isOwn = account?.isYou === true
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${account ? texts.accountNamed(account.username) : texts.newAccount}>${formHead(account?.username ?? texts.newAccount)}
    <div class="in stack">
      ${account ? null : input({ form, name: 'username', label: texts.userName, first: true })}
      ${account?.isLastAdmin ? html`<p class="small soft">The last administrator: neither removed nor made less, because then nobody could change anything.</p>` : choice({ form, name: 'role', label: texts.roleLabel, options: ROLES, hint: texts.roleHints[role as Role] })}
      ${role === 'administrator' ? null : reachFields(form, isAll === true)}
      ${isOwn ? html`<p class="small soft">Your password is changed under <a href=${linkTo('accounts', 'password')}>Own password</a>.</p>` : input({ form, name: 'password', label: account ? texts.newPassword : texts.password, type: 'password', autocomplete: 'new-password', hint: account ? texts.leftEmpty : texts.atLeastCharacters(8) })}
      ${account ? null : choice({ form, name: 'life', label: texts.ends, options: LIVES, hint: texts.endsHint })}
      ${refusal(form)}</div>
    <footer class="save">${account && !account.isLastAdmin ? removal(account, again) : null}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || (account !== undefined && !form.hasChanges())}>${account ? texts.save : texts.addAccount}</${Act}></footer></form>`
}

/** What anybody but an administrator sees, and may do. */
function reachFields(form: Form, isAll: boolean): VNode {
  return html`${toggle({ form, name: 'isAll', label: texts.everyCamera })}
    ${isAll ? null : html`<fieldset class="ticks"><legend class="small">Cameras it sees</legend>${(cameras.value ?? []).map(({ id, name }) => toggle({ form, name: `camera.${id}`, label: name }))}</fieldset>`}
    ${toggle({ form, name: 'may.export', label: texts.mayExport, hint: texts.mayExportHint })}`
}

function bodyOf({ isChanged, values }: Form, account: AccountEntry | undefined): AccountBody {
  const { isAll, life, password, role, username, ...rest } = values.value
  const body: AccountBody = {}
  if (!account) body.username = String(username).trim()
  if (!account || isChanged('role')) body.role = role as Role
  if (password !== '' || !account) body.password = String(password)
  if (life !== '') body.expiresAt = Math.round(daemonNow() + Number(life) * DAY_MS)
  // An administrator sees and may everything.
  if (role === 'administrator') return body
  const ticked = (prefix: string) => Object.keys(rest).filter((name) => name.startsWith(prefix) && rest[name] === true)
  body.cameras = isAll ? 'all' : ticked('camera.').map((name) => name.slice('camera.'.length))
  body.permissions = ticked('may.').map((name) => name.slice('may.'.length)) as Permission[]
  return body
}

function removal({ id, username }: AccountEntry, again: () => Promise<void>): VNode {
  const remove = () => doneOrSaid(() => accountsApi.remove(id), toList(again), texts.isRemoved(username))
  return html`<${Asked} act="Remove" kind="danger apart" title=${texts.removeQuestion(username)} text=${texts.removingAccountMeans} sure="Remove account" keep="Keep account" run=${remove} />`
}

/** Makes a token; once made, it is shown this one time. */
function TokenForm({ accounts, again }: { accounts: AccountEntry[] } & Again): VNode {
  const bearers = accounts.filter(({ installer }) => !installer)
  const own = bearers.find(({ isYou }) => isYou)?.id ?? ''
  const form = useForm({ name: '', accountId: own, life: '', readOnly: true }, 'draft')
  const [made, setMade] = useState<(Token & { token: string }) | null>(null)
  async function save(): Promise<void> {
    const { accountId, life, name, readOnly } = form.values.value
    const ends = life === '' ? {} : { expiresAt: Math.round(daemonNow() + Number(life) * DAY_MS) }
    setMade(
      await accountsApi.mint({
        name: String(name).trim(),
        accountId: String(accountId),
        readOnly: readOnly === true,
        ...ends,
      }),
    )
    await again()
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  if (made) return shownOnce(made)
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="New token">${formHead(texts.newToken)}
    <div class="in stack">
      ${input({ form, name: 'name', label: texts.name, first: true, placeholder: texts.tokenExample, hint: texts.tokenNameHint })}
      ${choice({ form, name: 'accountId', label: texts.tokenOf, options: bearers.map(({ id, username }) => [id, username] as const), hint: texts.tokenOfHint })}
      ${choice({ form, name: 'life', label: texts.ends, options: LIVES })}
      ${toggle({ form, name: 'readOnly', label: texts.readsOnlyLabel })}${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Make token</${Act}></footer></form>`
}

function shownOnce(made: Token & { token: string }): VNode {
  const mark = (event: FocusEvent): void => (event.target as HTMLTextAreaElement).select()
  return html`<section class="panel" aria-label="New token">${formHead(made.name)}
    <div class="in stack"><p>This is the only time it is shown. The recorder keeps a hash of it alone.</p>
      <div class="field"><label for="made-token">Token</label><div class="input"><textarea id="made-token" class="mono" rows="2" readonly value=${made.token} onFocus=${mark}></textarea></div>
        <p>Sent as <span class="mono">Authorization: Bearer …</span>, or as the password of HTTP Basic.</p></div></div>
    <footer class="save"><button class="btn" type="button" onClick=${() => void copyText(made.token, texts.tokenIsCopied)}>Copy token</button>
      <a class="btn primary" href=${linkTo('accounts')}>I have kept it</a></footer></section>`
}

/** The own password. @param isBeside it is open beside a table and can be closed */
function OwnPassword({ isBeside = false }: { isBeside?: boolean }): VNode {
  const form = useForm({ current: '', password: '' })
  async function save(): Promise<void> {
    const { current, password } = form.values.value
    await signedIn(await accountsApi.changePassword({ current: String(current), password: String(password) }))
    form.settle({ current: '', password: '' })
    toast(texts.yourPasswordIsChanged)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="Own password">${isBeside ? formHead(texts.ownPassword) : html`<header><h2>${texts.ownPassword}</h2></header>`}
    <div class="in stack">
      ${input({ form, name: 'current', label: texts.passwordNow, type: 'password', autocomplete: 'current-password', first: isBeside })}
      ${input({ form, name: 'password', label: texts.newPassword, type: 'password', autocomplete: 'new-password', hint: texts.atLeastCharacters(8) })}${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Change password</${Act}></footer></form>`
}
