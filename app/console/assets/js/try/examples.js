// Inputs to begin with: for each kind one that looks wrong and one that looks right.

const PHISHING = `From: "Account Service" <service@secure-login.example.ru>
Reply-To: <claims@prizes.example.biz>
To: kim@example.com
Subject: Your account has been limited
MIME-Version: 1.0
Content-Type: text/html; charset=utf-8

<p>Dear customer,</p><p>we have <b>limited your account</b>. Verify it within 24 hours:
<a href="http://paypal.com.secure-login.example.ru/verify.php">https://www.paypal.com/verify</a></p>
`;

const LETTER = `From: Ana Lopes <ana@example.org>
To: kim@example.com
Subject: Minutes of Tuesday
Message-ID: <a1b2@example.org>
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8

Hi Kim,

the minutes of Tuesday are below. Could you look at the second point before Friday?

Best,
Ana
`;

export const EXAMPLES = {
  url: [
    ["Looks like a bank", "http://paypal.com.secure-login.example.ru/account/verify.php?id=1&session=8f2c41"],
    ["An encyclopedia", "https://en.wikipedia.org/wiki/Sluice"],
  ],
  email: [["A limited account", PHISHING], ["Minutes of a meeting", LETTER]],
  text: [
    ["A prize", "WINNER!! You have been selected for a FREE £1000 prize. Call 0906 170 1461 now to claim. T&Cs apply."],
    ["A friend", "Are you still coming tonight? I'll be at the station at seven, bring the blue jacket please."],
  ],
  features: [
    ["As JSON", '{"amount": 1500, "country": "NL", "new_account": true}'],
    ["As lines", "amount 1500\ncountry NL\nnew_account true"],
  ],
};
