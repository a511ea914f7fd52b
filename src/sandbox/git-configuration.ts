/** What git is allowed to read: one configuration of ours, raw attributes, and an environment without the service's own. */

/** Where TLS roots and proxies of this machine come from; everything else of the service's environment stays out. */
const KEPT_VARIABLES = [
  'PATH',
  'TMPDIR',
  'GIT_SSL_CAINFO',
  'GIT_SSL_CAPATH',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'CURL_CA_BUNDLE',
  'http_proxy',
  'https_proxy',
  'HTTPS_PROXY',
  'no_proxy',
  'NO_PROXY',
];

/** Content of the only configuration file that git reads besides a mirror's own. `safe.directory` from the environment would not reach `upload-pack`; faults of old clients that harm nobody are let through. */
export const GIT_CONFIGURATION = `[core]
	hooksPath = /dev/null
	fsmonitor = false
[safe]
	directory = *
[transfer]
	fsckObjects = true
[fetch]
	fsckObjects = true
	recurseSubmodules = false
	writeCommitGraph = false
[fetch "fsck"]
	zeroPaddedFilemode = ignore
	badTimezone = ignore
	missingSpaceBeforeDate = ignore
	missingSpaceBeforeEmail = ignore
	missingNameBeforeEmail = ignore
	missingEmail = ignore
	badEmail = ignore
	multipleAuthors = ignore
[gc]
	auto = 0
[maintenance]
	auto = false
[credential]
	helper =
[protocol]
	allow = never
[protocol "http"]
	allow = always
[protocol "https"]
	allow = always
[protocol "file"]
	allow = user
`;

/** Attributes that override every `.gitattributes` of a tree, so that archives and diffs hold the bytes as committed. */
export const RAW_ATTRIBUTES =
  '* -text -ident -filter -working-tree-encoding -export-ignore -export-subst !diff !merge\n';

/** The environment of every git call. `configurationFile` holds `GIT_CONFIGURATION`. */
export function gitEnvironment(
  configurationFile: string,
  source: NodeJS.ProcessEnv,
  added: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT_VARIABLES) {
    const value = source[name];
    if (value !== undefined) kept[name] = value;
  }
  return {
    ...kept,
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: configurationFile,
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ALLOW_PROTOCOL: 'http:https',
    ...added,
  };
}
