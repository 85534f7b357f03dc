/** Start: find out who is signed in, then show the sign-in or the shell. */
import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import "./style/shell.css";
import "./core/theme";
import { render } from "preact";
import { me, offered, unreachable, whoAmI } from "./core/session";
import { SignIn } from "./pages/SignIn";
import { Trouble } from "./parts/States";
import { Shell } from "./shell";
import { t } from "./strings";

function App() {
  if (me.value === undefined) return <span class="unseen">{t.loading}</span>;
  if (me.value === null && unreachable.value !== null) {
    return (
      <main class="page">
        <Trouble failure={unreachable.value} again={() => void whoAmI()} />
      </main>
    );
  }
  return me.value === null || offered.value !== null ? <SignIn /> : <Shell />;
}

render(<App />, document.getElementById("app")!);
void whoAmI();
