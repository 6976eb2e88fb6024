/** What the page of the update server says. */

// main.ts
export const role = 'Update server'
export const install = 'On a new machine, this installs the latest version:'
export const version = (text: string) => `Version ${text}`
