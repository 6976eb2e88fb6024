/**
 * The password of a board. The browser has asked for it before the page came, and would ask again at every call that is
 * refused; so the page learns once what it signed in with, signs its calls by itself, and asks in a dialog of its own.
 */
import type { Credentials } from '#kit/web/call.ts'
import { createRenewal } from '#kit/web/renewal.ts'

/** The one user of a board. */
const USER = 'admin'
/** What the page signed in with. */
const AUTH = '/api/auth'

const renewal = createRenewal()
/** True while the board refuses what the page signs with. */
export const { isSignedOut } = renewal

/** Value of the `authorization` header; null where the board has no password. */
let header: string | null = null
let isLearned = false
/** While the password is being changed from here, what is refused waits for the new one. */
let changing: Promise<void> | null = null

/** What calls are signed with; null without a password. */
export function signedInWith(): string | null {
  return header
}

/** Calls that carry the password; a refused one waits for the dialog. */
export const basicCredentials: Credentials = {
  isAlone: true,
  header: () => header,
  isReady: () => !isSignedOut.value,
  async renewed(used) {
    if (changing !== null) return await changing
    if (!isLearned) await learn()
    if (header !== used) return
    await renewal.wait()
  },
}

/** Learns from the board what the browser signed in with. */
export async function learn(): Promise<void> {
  const answer = await fetch(AUTH).catch(() => undefined)
  if (!answer?.ok) return
  const { authorization } = (await answer.json()) as { authorization: string | null }
  header = authorization
  isLearned = true
}

/** Tries a password; what waited for one goes on where it is the right one. @returns whether it is */
export async function signIn(password: string): Promise<boolean> {
  const tried = basicOf(password)
  const answer = await fetch(AUTH, { headers: { authorization: tried }, credentials: 'omit' }).catch(() => undefined)
  if (!answer?.ok) return false
  header = tried
  renewal.done()
  await tellBrowser(password)
  return true
}

/** Changes the password, and goes on with the new one. @throws what `change` throws; the old one holds then */
export async function changePassword(password: string, change: () => Promise<unknown>): Promise<void> {
  async function run(): Promise<void> {
    await change()
    header = password === '' ? null : basicOf(password)
    isLearned = true
    if (password !== '') await tellBrowser(password)
  }
  const running = run()
  changing = running.catch(() => {})
  try {
    await running
  } finally {
    changing = null
  }
}

/** Value of the `authorization` header for a password. @source RFC 7617, 2 and 2.1: UTF-8 */
export function basicOf(password: string): string {
  const bytes = new TextEncoder().encode(`${USER}:${password}`)
  return `Basic ${btoa(String.fromCharCode(...bytes))}`
}

/**
 * Tells the browser a password that is known to be right, so that it does not ask for it when the page is loaded again.
 * A request that names user and password is the only way: a header is used once and not kept. Where nothing is kept the
 * browser asks.
 */
function tellBrowser(password: string): Promise<void> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.onloadend = () => resolve()
    request.open('GET', AUTH, true, USER, password)
    request.send()
  })
}
